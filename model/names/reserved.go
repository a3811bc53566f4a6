package names

import (
	"strings"

	"github.com/hirgen/hirgen/model/domain"
)

// Owners of reserved names that Refused or Breaks tests for.
const (
	axisKind  = "an axis kind"
	generated = "a name of the generated program"
	function  = "a function of the C library"
)

// A reservation is a set of names that generated files use or give another meaning. The name of a program cannot be one
// of them. Tensors, parameters and meshes can have these names, except names for which Refused returns an owner.
type reservation struct {
	what        string // the owner of the names, for messages
	names       map[string]bool
	programOnly bool // reserved only as the name of a program
	anyCase     bool // the set has names in lower case; they are reserved in upper and mixed case, too
}

type reservedPrefix struct{ text, what string }

var reservedPrefixes = []reservedPrefix{
	{"DID", axisKind},
	{"cuda", "a name of CUDA"}, {"CUDA", "a name of CUDA"}, {"cublas", "a name of cuBLAS"}, {"CUBLAS", "a name of cuBLAS"},
	{"nccl", "a name of NCCL"}, {"NCCL", "a name of NCCL"}, {"UCC_", "a name of UCC"},
	{"hirgen", "a name of the runtime"}, {"HIRGEN", "a name of the runtime"}, {"HG", "a name of the runtime"},
	{"INT8_", "a C macro"}, {"INT16_", "a C macro"}, {"INT32_", "a C macro"}, {"INT64_", "a C macro"},
	{"UINT8_", "a C macro"}, {"UINT16_", "a C macro"}, {"UINT32_", "a C macro"}, {"UINT64_", "a C macro"},
	{"SYS_", "a C macro"}, {"LC_", "a C macro"}, {"PTHREAD_", "a C macro"}, {"pthread_", "a name of the C library"},
	{"CLONE_", "a C macro"}, {"CPU_", "a C macro"}, {"STA_", "a C macro"}, {"FP_", "a C macro"}, {"ATOMIC_", "a C macro"},
	{"ADJ_", "a C macro"}, {"MOD_", "a C macro"}, {"CLOCK_", "a C macro"}, {"SCHED_", "a C macro"},
	{"INT_", "a C macro"}, {"UINT_", "a C macro"}, {"M_PI", "a C macro"}, {"M_1_PI", "a C macro"}, {"M_2_PI", "a C macro"},
	{"M_2_SQRT", "a C macro"}, {"M_LN", "a C macro"}, {"M_LOG", "a C macro"}, {"M_SQRT", "a C macro"}, {"M_E", "a C macro"},
	{"CU_", "a name of CUDA"}, {"NV_", "a name of CUDA"}, {"pnccl", "a name of NCCL"},
	{"CMAKE_", "a variable of CMake"}, {"CMake", "a name of CMake"}, {"BUILD_", "a variable of CMake"},
}

var reservations = []reservation{
	{what: axisKind, names: words(`Stream`)},
	{what: "a C++ keyword", names: words(`
		alignas alignof asm auto bool break case catch char char8_t char16_t char32_t class concept const
		consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
		do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
		mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast
		requires return short signed sizeof static static_assert static_cast struct switch template this
		thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
		wchar_t while restrict typeof override final import module`)},
	{what: "a C++ alternative token", names: words(`and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq`)},
	{what: "a C macro or a name of the C library", names: words(`
		NULL EOF BUFSIZ assert errno stdin stdout stderr signbit isnan isinf isfinite isnormal
		INFINITY NAN HUGE_VAL EXIT_SUCCESS EXIT_FAILURE RAND_MAX CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN
		UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX
		LLONG_MIN ULLONG_MAX SIZE_MAX SSIZE_MAX PTRDIFF_MAX PTRDIFF_MIN INTPTR_MAX INTPTR_MIN UINTPTR_MAX
		FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON PATH_MAX NAME_MAX IOV_MAX
		SIGABRT SIGALRM SIGBUS SIGCHLD SIGFPE SIGHUP SIGILL SIGINT SIGKILL SIGPIPE SIGQUIT SIGSEGV SIGTERM
		SIG_DFL SIG_ERR SIG_IGN SEEK_SET SEEK_CUR SEEK_END TMP_MAX CLOCKS_PER_SEC TIME_UTC
		offsetof va_arg va_end va_list va_start setjmp unix linux major minor makedev I complex
		EINTR EAGAIN EINVAL ENOMEM ENOENT EEXIST EPERM EIO EBUSY EDOM ERANGE ETIMEDOUT ECONNREFUSED
		M_E M_PI M_LN2 M_SQRT2
		main std size_t ssize_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t`)},
	{what: function, names: words(`
		min max abs exp sqrt tanh printf fprintf malloc calloc free memcpy memset exit abort signal`)},
	{what: "a C macro", names: headerMacros},
	{what: "a name of CUDA", names: words(`
		threadIdx blockIdx blockDim gridDim warpSize dim3 half half2 bfloat16 nv_bfloat16 nv_bfloat162 float2
		float4 double2 int2 int4 CUstream CUevent CUdevice CUcontext CUresult atomicAdd syncthreads`)},
	{what: generated, names: words(`
		caller stream streams workers worker tensors context call rank world size root peer host device issue run
		table reference create destroy program fp32 kStreams workspaces Context Team Program Events
		Reference MatmulPlan TensorDesc ProgramTable ProgramInfo` + domain.Lacking)},
	// A program declares the namespace hirgen_NAME, C functions such as hirgen_NAME_create, and constants
	// HIRGEN_NAME_TENSOR. The runtime has the same prefixes.
	{what: "a name of the runtime behind hirgen_", programOnly: true, anyCase: true, names: words(`
		options handle tensor plans cpu cpu_launch cpu_launch_flags cpu_flag cpu_access cpu_label cpu_misaligned abi c max export`)},
	{what: "a header that the program includes", programOnly: true, anyCase: true, names: systemHeaders},
	{what: "a target of CMake", programOnly: true, names: words(`
		all test tests install uninstall clean help package package_source edit_cache rebuild_cache
		list_install_components preinstall depend ALL_BUILD RUN_TESTS INSTALL PACKAGE ZERO_CHECK
		Experimental Nightly Continuous NightlyMemoryCheck default_target codegen`)},
	{what: "a file of the generated folder", programOnly: true, names: words(`
		main abi reference runtime build include src lib bin cmake README CMakeLists Makefile host_ir cpu`)}, // cpu, because of libhirgen_cpu
	{what: "a reserved file name of Windows", programOnly: true, names: words(`
		con prn aux nul com1 com2 com3 com4 lpt1 lpt2 lpt3 CON PRN AUX NUL COM1 COM2 COM3 COM4 LPT1 LPT2 LPT3`)},
}

// words returns the set of words in a list.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
