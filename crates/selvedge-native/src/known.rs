//! Functions from outside that neither wait nor touch what threads share, and those of which that is not known.
//!
//! The latter are replaced, when a module is linked, by functions that end the check where they are called.

use std::fmt::Write as _;

use crate::elf::Symbols;
use crate::shim;

/// Returns whether a function from outside is known to be harmless: it neither waits nor touches what threads share.
fn is_known(name: &str, is_cxx: bool) -> bool {
    const KNOWN: &[&str] = &[
        "abs",
        "bsearch",
        "div",
        "ffs",
        "ffsl",
        "ffsll",
        "getenv",
        "getpagesize",
        "htonl",
        "htons",
        "imaxabs",
        "isalnum",
        "isalpha",
        "isascii",
        "isblank",
        "iscntrl",
        "isdigit",
        "isgraph",
        "islower",
        "isprint",
        "ispunct",
        "isspace",
        "isupper",
        "iswalpha",
        "iswdigit",
        "iswspace",
        "isxdigit",
        "labs",
        "ldiv",
        "llabs",
        "lldiv",
        "longjmp",
        "ntohl",
        "ntohs",
        "siglongjmp",
        "stderr",
        "stdin",
        "stdout",
        "strerror",
        "sysconf",
        "timespec_getres",
        "toascii",
        "tolower",
        "toupper",
        "towlower",
        "towupper",
    ];
    /// For `double`; with a letter behind it for `float` and `long double`.
    const MATHEMATICS: &[&str] = &[
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "fdim",
        "floor",
        "fma",
        "fmax",
        "fmin",
        "fmod",
        "hypot",
        "ilogb",
        "ldexp",
        "llrint",
        "llround",
        "log",
        "log10",
        "log1p",
        "log2",
        "logb",
        "lrint",
        "lround",
        "nan",
        "nearbyint",
        "nextafter",
        "pow",
        "remainder",
        "rint",
        "round",
        "scalbln",
        "scalbn",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tgamma",
        "trunc",
    ];
    /// What the compiled part of the C++ library needs.
    const OF_CXX: &[&str] = &[
        "bind_textdomain_codeset",
        "bindtextdomain",
        "btowc",
        "close",
        "dcgettext",
        "dgettext",
        "dl_iterate_phdr",
        "fclose",
        "fdopen",
        "fileno",
        "fseeko64",
        "fstat64",
        "ftello64",
        "get_nprocs",
        "gettext",
        "iconv",
        "iconv_close",
        "iconv_open",
        "ioctl",
        "lseek64",
        "mbrtowc",
        "mbsnrtowcs",
        "mbsrtowcs",
        "putwc",
        "secure_getenv",
        "setlocale",
        "strtold_l",
        "wcrtomb",
        "wcsnrtombs",
        "wctob",
    ];
    const PARTS: &[&str] = &[
        "_",
        "pthread_attr_",
        "pthread_mutexattr_",
        "pthread_condattr_",
        "pthread_rwlockattr_",
        "pthread_barrierattr_",
        "pthread_equal",
        "pthread_getattr",
        "thrd_equal",
        "sched_get",
        "pthread_setsched",
        "pthread_getsched",
    ];
    // Names that the headers give to functions that are not known, and functions of C++ in libraries.
    const STRANGE: &[&str] = &["__isoc", "__sysv_", "_Z", "_IO_"];
    let name = name.split('@').next().unwrap_or(name);
    let number = name.strip_suffix(['f', 'l']).unwrap_or(name);
    if STRANGE.iter().any(|part| name.starts_with(part)) {
        return shim::wrapped().any(|known| known == name);
    }
    name.starts_with("selvedge_")
        || MATHEMATICS.contains(&name)
        || MATHEMATICS.contains(&number)
        || is_cxx && OF_CXX.contains(&name)
        || KNOWN.contains(&name)
        || PARTS.iter().any(|part| name.starts_with(part))
        || shim::wrapped().any(|known| known == name)
}

/// Returns the functions that a linked module calls and that are not known.
pub(crate) fn strangers(module: &[u8]) -> Vec<String> {
    let symbols = Symbols::read(module).unwrap_or_default();
    let is_cxx = symbols.defined().iter().any(|symbol| symbol.name == "selvedge_unwind");
    symbols.needed_functions.into_iter().filter(|name| !is_known(name, is_cxx)).collect()
}

/// Returns the text of a file that refuses these functions.
pub(crate) fn refusing(strangers: &[String]) -> String {
    let mut text = String::from("#include \"shim.h\"\n");
    for name in strangers {
        let _ = writeln!(
            text,
            "long __wrap_{name}(void) {{ OP(OP_REFUSE, \"{name}\", 0, 0, 0); __builtin_trap(); }}"
        );
    }
    text
}
