// What happens when a program ends by an exception that nothing catches: the standard library's handler would print it.

#include <cxxabi.h>
#include <exception>
#include <typeinfo>

#include "shim.h"

extern "C" void selvedge_terminated() asm("__wrap__ZN9__gnu_cxx27__verbose_terminate_handlerEv");

void selvedge_terminated() {
    const std::type_info *type = abi::__cxa_current_exception_type();
    if (!type) {
        OP(OP_UNCAUGHT, 0, 0, 0, 0);
        __builtin_trap();
    }
    std::exception_ptr current = std::current_exception();
    // Its only member is the address of the object that was thrown.
    void *object = *reinterpret_cast<void **>(&current);
    int status = 0;
    const char *demangled = abi::__cxa_demangle(type->name(), 0, 0, &status);
    const char *name = status == 0 ? demangled : type->name();
    const char *what = 0;
    try {
        throw;
    } catch (const std::exception &exception) {
        what = exception.what();
        OP(OP_UNCAUGHT, name, what, object, 0);
    } catch (...) {
        OP(OP_UNCAUGHT, name, 0, object, 0);
    }
    __builtin_trap();
}
