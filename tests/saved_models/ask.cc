// Loads a SavedModel as TensorFlow Serving does and asks it for the best tails.
// Usage: ask FOLDER HEAD RELATION TOP_K  ->  the status, then one line per tail: score TAB name.

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/cc/saved_model/loader.h"

using tensorflow::Tensor;
using tensorflow::tstring;

Tensor Text(const char* text) {
  Tensor tensor(tensorflow::DT_STRING, {1});
  tensor.vec<tstring>()(0) = text;
  return tensor;
}

int main(int argc, char** argv) {
  tensorflow::SavedModelBundle bundle;
  auto status = tensorflow::LoadSavedModel({}, {}, argv[1], {"serve"}, &bundle);
  std::vector<Tensor> outputs;
  if (status.ok()) {
    const auto& signature = bundle.GetSignatures().at("predict_tails");
    auto input = [&](const char* name) { return signature.inputs().at(name).name(); };
    auto output = [&](const char* name) { return signature.outputs().at(name).name(); };
    Tensor top_k(std::atoi(argv[4])), filtered(true);
    std::vector<std::pair<std::string, Tensor>> feed = {{input("head"), Text(argv[2])},
                                                        {input("relation"), Text(argv[3])},
                                                        {input("top_k"), top_k},
                                                        {input("filtered"), filtered}};
    status = bundle.session->Run(feed, {output("status"), output("scores"), output("entities")},
                                 {}, &outputs);
  }
  if (!status.ok()) {
    std::cerr << status.message() << std::endl;
    return 1;
  }
  std::cout << outputs[0].vec<tstring>()(0) << "\n";
  for (int i = 0; i < outputs[1].dim_size(1); ++i) {
    std::cout << outputs[1].matrix<float>()(0, i) << "\t" << outputs[2].matrix<tstring>()(0, i) << "\n";
  }
}
