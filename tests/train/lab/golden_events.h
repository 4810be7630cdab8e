#pragma once

#include <string>

namespace skyline {

// The golden event traces as text. Their sizes are those of the golden test of the allocators.
inline std::string golden_allocations(const std::string& name, int blocks,
                                      const std::string& bytes) {
  std::string text;
  for (int i = 0; i < blocks; ++i) text += "a," + name + std::to_string(i) + "," + bytes + "\n";
  return text;
}

inline std::string golden_frees(const std::string& name, int blocks) {
  std::string text;
  for (int i = 0; i < blocks; ++i) text += "f," + name + std::to_string(i) + ",\n";
  return text;
}

inline const std::string kEventHeader = "event,id,bytes\n";

// T1 and T1r: the program of PyTorch's developer log on fragmentation, and its reverse.
inline std::string golden_t1() {
  return kEventHeader + golden_allocations("p", 8, "16777216") + golden_frees("p", 8) +
         golden_allocations("q", 4, "33554432");
}
inline std::string golden_t1_reversed() {
  return kEventHeader + golden_allocations("q", 4, "33554432") + golden_frees("q", 4) +
         golden_allocations("p", 8, "16777216");
}

// T2: a snapshot published on PyTorch's forum.
inline std::string golden_t2() {
  return kEventHeader + "a,W,40000\na,b,40\na,X,4000\na,ws,8519680\na,xw,40\na,y,40\nf,xw,\n";
}

// T3: three steps of an MLP 784-1024-1024-10 at batch 512 with momentum.
inline std::string golden_t3() {
  std::string text = kEventHeader +
                     "a,W0,3211264\na,b0,4096\na,mW0,3211264\na,mb0,4096\na,W1,4194304\na,b1,4096\n"
                     "a,mW1,4194304\na,mb1,4096\na,W2,40960\na,b2,40\na,mW2,40960\na,mb2,40\n";
  for (int step = 0; step < 3; ++step) {
    text +=
        "s,,\na,x0,1605632\na,z0,2097152\na,x1,2097152\nf,z0,\na,z1,2097152\na,x2,2097152\nf,z1,\n"
        "a,z2,20480\na,prob,20480\nf,z2,\na,loss,4\na,dz2,20480\nf,prob,\na,dW2,40960\na,db2,40\n"
        "a,dx2,2097152\nf,dz2,\na,dz1,2097152\nf,dx2,\nf,x2,\na,dW1,4194304\na,db1,4096\n"
        "a,dx1,2097152\nf,dz1,\na,dz0,2097152\nf,dx1,\nf,x1,\na,dW0,3211264\na,db0,4096\nf,dz0,\n"
        "f,x0,\nf,dW0,\nf,db0,\nf,dW1,\nf,db1,\nf,dW2,\nf,db2,\nf,loss,\n";
  }
  return text;
}

}  // namespace skyline
