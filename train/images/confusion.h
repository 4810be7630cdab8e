#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/cli/figures.h"
#include "train/images/image_data.h"

namespace skyline {

// An evaluated image that a network took for another class.
struct Mistake {
  std::size_t index = 0;  // of the image in its data set
  std::size_t label = 0, predicted = 0;
  double probability = 0;  // of the predicted class
};

// The answers of a network for one class.
struct ClassResult {
  std::string name;
  std::int64_t images = 0, correct = 0;
  std::int64_t predicted = 0;     // images of any class that were taken for this one
  std::string taken_for;          // the most frequent wrong prediction; empty: none
  std::int64_t taken_images = 0;  // as often

  // Unknown without images of the class, or without predictions of it.
  std::optional<double> recall() const;
  std::optional<double> precision() const;
};

// Counts of the classes that a network took the images of each class for.
class Confusion {
 public:
  // `names` of the first of `classes` classes; others are called by their numbers.
  Confusion(std::vector<std::string> names, std::size_t classes);

  // Counts an image unless its label is kNotCounted. The prediction is the largest logit, the lower
  // class of equal ones.
  void add(std::size_t index, std::span<const float> logits, std::int32_t label);

  const std::vector<std::string>& names() const { return names_; }
  // The number of images of each pair of a class and a prediction that occurs.
  const std::map<std::pair<std::size_t, std::size_t>, std::int64_t>& counts() const {
    return counts_;
  }
  const std::vector<Mistake>& mistakes() const { return mistakes_; }
  std::vector<ClassResult> classes() const;
  // Row by row: true classes are rows, predictions columns, as scikit-learn has them. Empty for
  // more than kMostMatrixClasses.
  std::vector<std::vector<std::int64_t>> matrix() const;

 private:
  std::vector<std::string> names_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> counts_;
  std::vector<Mistake> mistakes_;
};

inline constexpr std::size_t kMostMatrixClasses = 1000;

Rows<ClassResult> rows(const ClassResult*);
// A table of the classes; and the matrix, if there are at most 20. Of more classes, the 20 with the
// lowest accuracy.
std::string confusion_text(const Confusion& confusion);

// Makes a page with the matrix, the classes, and pictures of the pairs that are confused most.
// `facts` are names and values that stand above them. Throws what reading an image throws.
std::string confusion_page(const Confusion& confusion, const ImageData& data,
                           const std::string& title,
                           const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace skyline
