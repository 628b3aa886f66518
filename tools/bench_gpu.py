"""`tools/dev.py bench-gpu [--coder NAME]`: checkpoints on this machine's GPU, measured.

Needs CMake and nvcc, and nothing else: no package, no HDF5, no MPI, no network. Builds device_bench
in build-gpu/, runs the checks of devices and S2's runs on the GPU, then the same on the emulated
device, and writes both to out/bench/together.json with pictures beside it; with one of nvCOMP's
coders, which must be found, the names begin with together_<coder>. The emulated device compresses
in packed frames in any case. Standard library only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

from stages import OUT, ROOT, cores, fail, run_stage

CODERS = (
    "packed",
    "nvcomp_lz4",
    "nvcomp_gdeflate",
    "nvcomp_bitcomp",
    "nvcomp_ans",
    "nvcomp_cascaded",
)
TREE = ROOT / "build-gpu"
PICTURES = ROOT / "bench" / "together"
EMULATED_SCALE = 100  # how much smaller the emulated runs are, so that the host is not busy long
GB = 1e9


def build() -> None:
    """Configure and compile device_bench with CUDA, or say what is missing."""
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"])
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc", path=places)
    if nvcc is None or shutil.which("cmake") is None:
        fail("bench-gpu needs cmake and nvcc on the PATH (or $CUDACXX).")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    configure = ["cmake", "-S", str(ROOT), "-B", str(TREE), *generator]
    configure += ["-DCAESURA_DEVICE_ONLY=ON", "-DCAESURA_CUDA=ON", f"-DCMAKE_CUDA_COMPILER={nvcc}"]
    run_stage("configure build-gpu/", configure, log="configure-build-gpu")
    jobs = os.environ.get("JOBS", str(cores()))
    compile_ = ["cmake", "--build", str(TREE), "--target", "device_bench", "-j", jobs]
    run_stage(f"compile in build-gpu/ ({jobs} jobs)", compile_, log="compile-build-gpu")


def measure(*arguments: str) -> tuple[dict, int]:
    """What device_bench printed, and its exit status; errors have gone to the terminal."""
    command = [str(TREE / "lab" / "nvcomp" / "device_bench"), *arguments]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return (json.loads(answer.stdout) if answer.stdout.strip() else {}), answer.returncode


def table(gpu: dict, emulated: dict) -> None:
    """Throughput of every way on both devices, and how well the plan foresaw the time."""
    ways = ("raw", "each", "planned", "ensemble", "counted", "unknown")
    print("\n| GB/s, emulated in brackets | " + " | ".join(ways) + " | measured to plan |")
    print("|---|" + "---|" * (len(ways) + 1))
    for figure in ("figure 6", "figure 8", "figure 9", "figure 10"):
        for label, row in gpu[figure].items():
            beside = emulated[figure][label]
            cells = [f"{row['bytes_per_s'][way] / GB:.0f} ({beside['bytes_per_s'][way] / GB:.0f})"
                     for way in ways]  # fmt: skip
            cells.append(f"{row['measured_to_plan']:.3f} ({beside['measured_to_plan']:.3f})")
            print(f"| {figure}, {label} | " + " | ".join(cells) + " |")


def write(results: dict, name: str) -> None:
    """The numbers, and the pictures of those of S2's figures that one GPU can make."""
    sys.path.insert(0, str(PICTURES))
    import pictures

    place = OUT / "bench"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for picture, svg in pictures.draw(results).items():
        (place / f"{name}_{picture}.svg").write_text(svg, encoding="utf-8")
    print(f"\n{place.relative_to(ROOT)}/{name}.json and {name}_*.svg")


def bench_gpu(coder: str = CODERS[0]) -> int:
    """Build, run on the GPU and emulated, write and draw both."""
    build()
    gpu, code = measure("cuda", coder)
    if not gpu:
        fail("bench-gpu measured nothing: device_bench could not use a GPU, or nvCOMP (see above).")
    emulated, emulated_code = measure("emulated", str(EMULATED_SCALE))
    wrong = {name: said for name, said in gpu["checks"].items() if said != "ok"}
    passed = f"{len(gpu['checks']) - len(wrong)} of {len(gpu['checks'])} checks passed"
    link = f"link {gpu['link_bytes_per_s'] / GB:.1f} GB/s"
    print(f"\n{gpu['device']}, {gpu['coder']}: {passed}, {link}")
    for name, said in wrong.items():
        print(f"  {name}: {said}")
    table(gpu, emulated)
    name = "together" if coder == CODERS[0] else f"together_{coder}"
    write({**gpu, "emulated": emulated}, name)
    return code or emulated_code
