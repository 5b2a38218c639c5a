// The definition of a table or a sequence as bytes: the values of kCatalogTree. Part of the file format.
//
// Numbers are LEB128 varints unless a size is given; strings are a varint length and their bytes.
//   1 byte   format version: 1, or 2 if there are extras
//   object id, tree id, schema, name
//   column count, then for each column:
//     name, 1 byte type (type::TypeId), 4 bytes precision, 4 bytes scale, 4 bytes length (little-endian, signed),
//     1 byte flags (bit 0 = NOT NULL), DEFAULT expression (empty: none)
//   primary key column count, then column positions; the primary key's name
//   index count, then for each index:
//     object id, tree id, name, 1 byte flags (bit 0 = unique, bit 1 = made by a constraint), column count, then for
//     each column: its position, 1 byte flags (bit 0 = descending, bit 1 = nulls first)
// Version 2 adds a list of extras at the end of each column and at the end of the whole: their count, then for each:
//   1 byte tag, length-prefixed bytes. Unknown tags are an error: they change what the rest means.
//   Of a column: 1 dropped (no bytes); 2 what rows give that were written before it was added: a row of this column;
//     3 IDENTITY: 1 byte, 1 = ALWAYS, 2 = BY DEFAULT; 4 owned sequences: a count and their object ids
//   Of a table:
//     1  CHECKs: a count, then for each: name, expression, 1 byte flags (bit 0 = NO INHERIT)
//     2  foreign keys: a count, then for each: name, 1 byte flags (bit 0 = MATCH FULL), 1 byte each ON DELETE and
//        ON UPDATE (catalog::ReferenceAction), referenced table's id, column count, then the columns, then as many
//        referenced columns; the columns of SET with their count
//     3  referrers: a count, then for each: table's id, foreign key's name
//     4  it is a view: text, time zone, 4 bytes its offset in seconds, 8 bytes time of making in microseconds, a count
//     of
//        sources, then for each: schema, name, its id, column count, then for each column: name, slot, 1 byte flags
//        (bit 0 = the view uses it, bit 1 = and the primary key)
//
// A sequence's:
//   1 byte   129: no format version of a table
//   object id, schema, name, owner (object id of a table, 0: none), generation
//   1 byte type (smallint, integer, bigint), 1 byte flags (bit 0 = CYCLE, bit 1 = initial value is called)
//   8 bytes each, little-endian, signed: start, increment, minimum, maximum, cache, initial value
#pragma once

#include <string>
#include <string_view>

#include "sisal/base/status.h"
#include "sisal/catalog/schema.h"
#include "sisal/catalog/sequence.h"

namespace sisal::catalog {

std::string EncodeDefinition(const Table& table);
// Errors: XX001 if the bytes are not a definition.
Result<TablePtr> DecodeDefinition(std::string_view bytes);

bool IsSequenceDefinition(std::string_view bytes);
std::string EncodeSequence(const Sequence& sequence);
Result<Sequence> DecodeSequence(std::string_view bytes);  // without a state; XX001

}  // namespace sisal::catalog
