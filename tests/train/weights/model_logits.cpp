// model_logits MODEL read|write WEIGHTS INPUTS LOGITS: the logits of a network, between safetensors
// files. It reads its weights from a file or writes its own there; see torch_logits.py.
#include <cstdio>
#include <cstring>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "models/models.h"
#include "models/seq2seq.h"
#include "train/checkpoints/initial_weights.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/state/training_state.h"

namespace skyline {
namespace {

struct Run {
  Context& context;
  bool writes;
  std::string weights;
  Safetensors inputs;

  // Reads the network's weights, or writes them.
  void exchange(const Network& network) {
    if (writes) {
      write_safetensors(weights, stored_weights(context, network, 0));
      return;
    }
    const InitialWeights initial = load_initial_weights(context, network, weights);
    for (const std::string& warning : initial.warnings) throw std::runtime_error(warning);
  }
  // Uploads a tensor of the inputs.
  Tensor upload(const char* name, DType dtype) {
    const StoredTensor& input = *inputs.find(name);
    const std::vector<std::int64_t>& s = input.shape;
    const TensorSpec spec{s.size() == 4 ? Shape{s[0], s[1], s[2], s[3]} : Shape{s[0]}, dtype};
    const Tensor tensor = context.upload(spec, std::vector<std::byte>(spec.bytes()).data());
    load(context, input, {name, tensor, s.size() == 4 ? s[1] : 1});
    return tensor;
  }
};

Tensor image_logits(Run& run, const std::string& name) {
  const std::vector<std::int64_t>& images = run.inputs.find("images")->shape;
  const auto extent = [&images](std::size_t axis) { return static_cast<int>(images[axis]); };
  const ModelShape shape{.channels = extent(1),
                         .height = extent(2),
                         .width = extent(3),
                         .classes = extent(2) > 32 ? 1000 : 10};
  const std::unique_ptr<Model> model = find_model(name).make(run.context, shape);
  run.exchange(*model);
  return model->forward(run.context, run.upload("images", DType::kFloat32)).logits;
}

Tensor text_logits(Run& run) {
  const Seq2Seq model(run.context, {.source_words = 30,
                                    .target_words = 30,
                                    .layers = 2,
                                    .units = 8,
                                    .embedding = 8,
                                    .dropout = 0});
  run.exchange(model);
  const auto packed = [](const Tensor& words) {
    return PackedShape(std::vector<std::int32_t>(static_cast<std::size_t>(words.shape()[0]), 1));
  };
  const Tensor source = run.upload("source", DType::kInt32);
  const Tensor target = run.upload("target", DType::kInt32);
  const LstmState state = model.encode(run.context, source, packed(source));
  return model.logits(run.context, model.decode(run.context, state, target, packed(target)).y);
}

void main_of(const std::vector<std::string>& words) {
  CpuDevice device;
  BestFitPool pool(device);
  Context context(pool, {.mode = Mode::kInference, .seed = 3});
  Run run{context, words[1] == "write", words[2], read_safetensors(words[3])};
  const Tensor logits = words[0] == kSeq2Seq ? text_logits(run) : image_logits(run, words[0]);
  write_safetensors(words[4], std::vector{stored(context, {"logits", logits})});
}

}  // namespace
}  // namespace skyline

int main(int count, char** words) {
  try {
    if (count != 6) throw std::runtime_error("model_logits MODEL read|write WEIGHTS INPUTS LOGITS");
    skyline::main_of({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
