// Statements against a catalog in memory, made by CREATE TABLE and CREATE INDEX texts.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/sql/statement.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::sql {

class MapRoot final : public catalog::Root {
 public:
  catalog::TablePtr FindTable(std::string_view schema, std::string_view name) const override {
    const auto found = tables.find(std::string(name));
    return schema == "public" && found != tables.end() ? found->second : nullptr;
  }
  catalog::TablePtr FindTable(ObjectId) const override { return nullptr; }
  catalog::TablePtr FindTableOfIndex(std::string_view schema, std::string_view index_name) const override {
    for (const auto& [name, table] : tables) {
      if (schema != "public") continue;
      if (!table->primary_key.empty() && table->primary_key_name == index_name) return table;
      for (const catalog::Index& index : table->indexes) {
        if (index.name == index_name) return table;
      }
    }
    return nullptr;
  }
  bool RelationExists(std::string_view schema, std::string_view name) const override {
    return FindTable(schema, name) != nullptr || FindTableOfIndex(schema, name) != nullptr ||
           FindSequence(schema, name) != nullptr;
  }
  void ForEachTable(const std::function<void(const catalog::TablePtr&)>& visit) const override {
    for (const auto& [name, table] : tables) visit(table);
  }
  catalog::SequencePtr FindSequence(std::string_view schema, std::string_view name) const override {
    const auto found = sequences.find(std::string(name));
    return schema == "public" && found != sequences.end() ? found->second : nullptr;
  }
  catalog::SequencePtr FindSequence(ObjectId) const override { return nullptr; }
  void ForEachSequence(const std::function<void(const catalog::SequencePtr&)>& visit) const override {
    for (const auto& [name, sequence] : sequences) visit(sequence);
  }
  uint64_t version() const override { return 1; }

  std::map<std::string, catalog::TablePtr> tables;
  std::map<std::string, catalog::SequencePtr> sequences;
};

class AnalyzeTest : public ::testing::Test {
 protected:
  AnalyzeTest() : root_(std::make_shared<MapRoot>()) { context_.root = root_; }

  // Runs a CREATE TABLE or CREATE INDEX against the map.
  void Define(std::string_view sql) {
    const Result<StatementPtr> statement = Analyze(sql, context_);
    ASSERT_TRUE(statement.ok()) << sql << ": " << statement.error().ToString();
    if ((*statement)->kind == StatementKind::kCreateTable) {
      const catalog::Table& table = *(*statement)->create_table.table;
      root_->tables[table.name] = std::make_shared<catalog::Table>(table);
      return;
    }
    ASSERT_EQ((*statement)->kind, StatementKind::kCreateIndex);
    auto table = std::make_shared<catalog::Table>(*(*statement)->create_index.table);
    table->indexes.push_back((*statement)->create_index.index);
    root_->tables[table->name] = table;
  }

  // The plan's lines, or "SQLSTATE@position message" of the error.
  std::string Outcome(std::string_view sql) {
    const Result<StatementPtr> statement = Analyze(sql, context_);
    if (!statement.ok()) {
      const Error& error = statement.error();
      return std::string(error.sqlstate()) + "@" + std::to_string(error.position()) + " " + error.message();
    }
    if ((*statement)->plan == nullptr) return (*statement)->command;
    std::string text;
    for (const std::string& line : Explain(*(*statement)->plan)) text += (text.empty() ? "" : "\n") + line;
    return text;
  }

  // "name type, name type": the output columns; then " <- type, type": the parameters, if there are any.
  std::string Signature(std::string_view sql) {
    const Result<StatementPtr> statement = Analyze(sql, context_);
    if (!statement.ok()) return statement.error().ToString();
    std::string text;
    for (const OutputColumn& column : (*statement)->output) {
      text += (text.empty() ? "" : ", ") + column.name + " " + column.type.ToString();
    }
    std::string params;
    for (const type::SqlType& type : (*statement)->params) params += (params.empty() ? "" : ", ") + type.ToString();
    return params.empty() ? text : text + " <- " + params;
  }

  std::shared_ptr<MapRoot> root_;
  AnalyzeContext context_;
};

}  // namespace sisal::sql
