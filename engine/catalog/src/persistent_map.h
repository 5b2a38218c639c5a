// An immutable ordered map: a change makes a new map that shares all but O(log n) nodes with the old one.
//
// An AVL tree with copied paths. A copy of a map is a copy of one pointer. Immutable, hence thread-safe to read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "sisal/base/check.h"

namespace sisal::catalog {

template <typename Key, typename Value>
class PersistentMap {
 public:
  // nullptr: not there. `K` compares with Key.
  template <typename K>
  const Value* Find(const K& key) const {
    const Node* node = root_.get();
    while (node != nullptr) {
      if (key < node->key) {
        node = node->left.get();
      } else if (node->key < key) {
        node = node->right.get();
      } else {
        return &node->value;
      }
    }
    return nullptr;
  }

  PersistentMap With(Key key, Value value) const {
    return PersistentMap(Insert(root_, std::move(key), std::move(value)));
  }
  template <typename K>
  PersistentMap Without(const K& key) const {
    return Find(key) == nullptr ? *this : PersistentMap(Erase(root_, key));
  }

  // In key order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    Walk(root_.get(), visit);
  }
  size_t size() const { return SizeOf(root_); }

  // Ascending keys, balanced heights, right sizes: for tests.
  void CheckInvariants() const { CheckNode(root_.get()); }

  PersistentMap() = default;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<const Node>;
  struct Node {
    Node(Key k, Value v, NodePtr l, NodePtr r)
        : key(std::move(k)),
          value(std::move(v)),
          left(std::move(l)),
          right(std::move(r)),
          height(1 + std::max(HeightOf(left), HeightOf(right))),
          size(1 + SizeOf(left) + SizeOf(right)) {}
    Key key;
    Value value;
    NodePtr left, right;
    int height;
    size_t size;
  };

  explicit PersistentMap(NodePtr root) : root_(std::move(root)) {}

  static int HeightOf(const NodePtr& node) { return node == nullptr ? 0 : node->height; }
  static size_t SizeOf(const NodePtr& node) { return node == nullptr ? 0 : node->size; }
  static NodePtr Make(const Node& like, NodePtr left, NodePtr right) {
    return std::make_shared<Node>(like.key, like.value, std::move(left), std::move(right));
  }

  // A node like `like` over subtrees whose heights differ by at most two.
  static NodePtr Balance(const Node& like, NodePtr left, NodePtr right) {
    const int lean = HeightOf(left) - HeightOf(right);
    if (lean > 1) {
      if (HeightOf(left->left) >= HeightOf(left->right)) {
        return Make(*left, left->left, Make(like, left->right, std::move(right)));
      }
      const Node& middle = *left->right;
      return Make(middle, Make(*left, left->left, middle.left), Make(like, middle.right, std::move(right)));
    }
    if (lean < -1) {
      if (HeightOf(right->right) >= HeightOf(right->left)) {
        return Make(*right, Make(like, std::move(left), right->left), right->right);
      }
      const Node& middle = *right->left;
      return Make(middle, Make(like, std::move(left), middle.left), Make(*right, middle.right, right->right));
    }
    return Make(like, std::move(left), std::move(right));
  }

  static NodePtr Insert(const NodePtr& node, Key key, Value value) {
    if (node == nullptr) return std::make_shared<Node>(std::move(key), std::move(value), nullptr, nullptr);
    if (key < node->key) return Balance(*node, Insert(node->left, std::move(key), std::move(value)), node->right);
    if (node->key < key) return Balance(*node, node->left, Insert(node->right, std::move(key), std::move(value)));
    return std::make_shared<Node>(std::move(key), std::move(value), node->left, node->right);
  }

  // Requires: the key is there.
  template <typename K>
  static NodePtr Erase(const NodePtr& node, const K& key) {
    if (key < node->key) return Balance(*node, Erase(node->left, key), node->right);
    if (node->key < key) return Balance(*node, node->left, Erase(node->right, key));
    if (node->left == nullptr) return node->right;
    if (node->right == nullptr) return node->left;
    const Node* next = node->right.get();
    while (next->left != nullptr) next = next->left.get();
    return Balance(*next, node->left, Erase(node->right, next->key));
  }

  template <typename Visit>
  static void Walk(const Node* node, Visit& visit) {
    if (node == nullptr) return;
    Walk(node->left.get(), visit);
    visit(node->key, node->value);
    Walk(node->right.get(), visit);
  }

  static void CheckNode(const Node* node) {
    if (node == nullptr) return;
    CheckNode(node->left.get());
    CheckNode(node->right.get());
    SISAL_CHECK(node->left == nullptr || node->left->key < node->key);
    SISAL_CHECK(node->right == nullptr || node->key < node->right->key);
    SISAL_CHECK(node->height == 1 + std::max(HeightOf(node->left), HeightOf(node->right)));
    SISAL_CHECK(std::abs(HeightOf(node->left) - HeightOf(node->right)) <= 1);
    SISAL_CHECK(node->size == 1 + SizeOf(node->left) + SizeOf(node->right));
  }

  NodePtr root_;
};

}  // namespace sisal::catalog
