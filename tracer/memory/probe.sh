set -u
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader
export PATH=/usr/local/cuda/bin:$PATH
cmake -S tracer -B build/tracer >/tmp/c.txt 2>&1 || tail -20 /tmp/c.txt
cmake --build build/tracer -j16 >/tmp/b.txt 2>&1 || tail -30 /tmp/b.txt
find build/tracer -name "*.so"
L=$PWD/$(find build/tracer -name libuvmtrace_memory.so)
python3 -c "import torch,sys; print(torch.__version__)"; python3 -c "import jax; print('jax', jax.__version__)"; python3 -c "import torchvision, transformers; print(torchvision.__version__, transformers.__version__)"
nvcc -O3 -std=c++17 -arch=native -o /tmp/bfs workloads/recipes/bfs.cu && nvcc -O3 -std=c++17 -arch=native -o /tmp/stencil workloads/recipes/stencil3d.cu
for p in bfs stencil; do mkdir -p $OUT/$p; time UVMTRACE_LOG_DIR=$OUT/$p CUDA_INJECTION64_PATH=$L /tmp/$p | tail -3; time /tmp/$p | tail -1; done
cd workloads/recipes
export PYTHONPATH=$PWD/../../tracer/torch/site
for m in alexnet gpt2; do mkdir -p $OUT/$m
( time UVMTRACE_LOG_DIR=$OUT/$m CUDA_INJECTION64_PATH=$L python3 -m euromlsys25 $m --iterations 4 --memory $OUT/$m/memory.json ) 2>&1 | tail -12
( time python3 -m euromlsys25 $m --iterations 4 --memory $OUT/$m/plain.json ) 2>&1 | tail -12; done
