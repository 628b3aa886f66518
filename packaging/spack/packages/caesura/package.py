"""Caesura for Spack. ../../README.md says how this repository of packages is used.

There is no public archive yet, so no version has a checksum. Inside a checkout,
`spack develop --path . caesura@main` builds it.
"""

import os

try:  # Spack 1.0 and newer
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.python import PythonExtension
except ImportError:
    pass  # before, spack.package has them

from spack.package import *


class Caesura(CMakePackage, CudaPackage, PythonExtension):
    """Caesura writes a simulation's data in the pauses of the simulation: compressed in blocks,
    within an error bound, into one standard HDF5 file that follows openPMD."""

    homepage = "https://example.org/caesura"
    git = "https://example.org/caesura.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="For programs that use parallel HDF5 themselves")
    variant("vol", default=True, when="+mpi", description="HDF5's VOL connector")
    variant("python", default=False, description="The Python package")
    variant("tools", default=False, when="+python", description="What the command line needs")
    variant("fortran", default=True, description="Modules for the Fortran compiler")
    variant("service", default=True, description="The service in transit, and its clients")
    variant("pmix", default=False, when="+service", description="Services find each other by PMIx")
    # CudaPackage brings cuda and cuda_arch.

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("fmt@9:")
    depends_on("highway@1.0.3:")
    depends_on("kissfft@131:", type="build")  # a header
    depends_on("libdeflate@1.10:")
    depends_on("libsodium@1.0.18:")
    depends_on("nlohmann-json@3.10:", type="build")  # a header
    depends_on("tomlplusplus@3.3:", type="build")  # a header
    depends_on("xxhash@0.8:")
    depends_on("zstd@1.5:")

    depends_on("mpi", when="+mpi")
    depends_on("hdf5@1.10.8:")
    depends_on("hdf5+mpi", when="+mpi")
    depends_on("hdf5~mpi", when="~mpi")
    depends_on("hdf5@1.14:", when="+vol")
    depends_on("ucx@1.13:", when="+service")
    depends_on("pmix@3:", when="+pmix")
    depends_on("cuda@12:", when="+cuda")

    extends("python@3.11:", when="+python")
    with when("+python"):
        depends_on("py-nanobind@2.4:", type="build")
        depends_on("py-numpy@1.24:", type=("build", "run"))
        depends_on("py-h5py@3.8:", type="run")
        depends_on("py-hdf5plugin@4.4:", type="run")
        depends_on("py-mpi4py@3.1:", type="run", when="+mpi")
    with when("+tools"):
        depends_on("py-typer@0.12:", type="run")
        depends_on("py-rich@13:", type="run")

    # The language, not the optimisation: C++20 with concepts and std::span.
    conflicts("%gcc@:11", msg="Caesura needs GCC 12 or newer")
    conflicts("%clang@:13", msg="Caesura needs Clang 14 or newer")
    conflicts("cuda_arch=none", when="+cuda", msg="cuda_arch names the GPUs to compile for")
    conflicts("platform=darwin", msg="Caesura works on Linux")
    conflicts("platform=windows", msg="Caesura works on Linux")

    generator("ninja")

    @property
    def build_targets(self):
        return ["caesura_installed"]

    def cmake_args(self):
        spec = self.spec
        # A view has one HDF5, so all three flavours are the same.
        hdf5 = spec["hdf5"].prefix
        args = [
            self.define("CAESURA_TESTS", False),
            self.define("CAESURA_LAB", False),
            self.define("CAESURA_MINIAPPS", False),
            self.define_from_variant("CAESURA_MPI", "mpi"),
            self.define_from_variant("CAESURA_PYTHON", "python"),
            self.define_from_variant("CAESURA_FORTRAN", "fortran"),
            self.define_from_variant("CAESURA_SERVICE", "service"),
            self.define_from_variant("CAESURA_PMIX", "pmix"),
            self.define("CAESURA_CUDA", "ON" if spec.satisfies("+cuda") else "OFF"),
            self.define("HDF5_ROOT", hdf5),
            self.define("CMAKE_INSTALL_RPATH_USE_LINK_PATH", True),
        ]
        if spec.satisfies("+mpi"):
            args.append(self.define("HDF5_PARALLEL_ROOT", hdf5))
        if spec.satisfies("+vol"):
            args.append(self.define("HDF5_VOL_ROOT", hdf5))
        if spec.satisfies("+python"):
            args.append(self.define("Python_EXECUTABLE", spec["python"].command.path))
            args.append(self.define("CAESURA_PYTHON_DIR", python_platlib))
        if spec.satisfies("+cuda"):
            arches = ";".join(spec.variants["cuda_arch"].value)
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", arches))
        return args

    def setup_run_environment(self, env):
        for directory in ("lib", "lib64"):
            plugins = join_path(self.prefix, directory, "hdf5", "plugin")
            if os.path.isdir(plugins):
                env.prepend_path("HDF5_PLUGIN_PATH", plugins)

    def _example(self, language):
        """An installed example's directory."""
        return join_path(self.prefix.share.doc.caesura.examples, language)

    def test_cplusplus(self):
        """build the installed C++ example with pkg-config, and run it"""
        flags = which("pkg-config", required=True)("--cflags", "--libs", "caesura", output=str)
        source = join_path(self._example("cpp"), "heat.cpp")
        rpath = f"-Wl,-rpath,{self.prefix.lib},-rpath,{self.prefix.lib64}"
        compiler = which(os.environ["CXX"], required=True)
        compiler("-std=c++20", source, "-o", "heat", *flags.split(), rpath)
        which("./heat", required=True)("heat.h5")
        assert os.path.getsize("heat.h5") > 0

    def test_stock_tools_read(self):
        """h5dump reads the example's file through the installed filter"""
        if not self.spec.satisfies("^hdf5+tools"):
            raise SkipTest("this HDF5 has no tools")
        self.test_cplusplus()
        dump = Executable(join_path(self.spec["hdf5"].prefix.bin, "h5dump"))
        shown = dump("-d", "/data/0/meshes/temperature", "-y", "-w", "80", "heat.h5", output=str)
        assert "(47,47," in shown

    def test_python(self):
        """run the installed Python example"""
        if not self.spec.satisfies("+python"):
            raise SkipTest("this Caesura has no Python")
        python = self.spec["python"].command
        python(join_path(self._example("python"), "heat.py"), "heat.h5")

    def test_command_line(self):
        """say the version"""
        if not self.spec.satisfies("+tools"):
            raise SkipTest("this Caesura has no command line")
        Executable(join_path(self.prefix.bin, "caesura"))("--version")
