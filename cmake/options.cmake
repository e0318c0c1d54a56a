# The compile options of every target of ours. One interface target, no directory-wide flags.
add_library(project_options INTERFACE)
target_compile_definitions(project_options INTERFACE _GNU_SOURCE SLIPWAY_VERSION="${PROJECT_VERSION}")
target_compile_options(project_options INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wvla -Werror=incompatible-pointer-types -Werror=implicit-function-declaration>
  $<$<COMPILE_LANG_AND_ID:C,Clang>:-Wno-pass-failed> # "loop not vectorized": our pragmas allow it and do not require it
  # glibc defines these for GCC only.
  "$<$<COMPILE_LANG_AND_ID:C,Clang>:-DCMPLX(x,y)=__builtin_complex((double)(x),(double)(y))>"
  "$<$<COMPILE_LANG_AND_ID:C,Clang>:-DCMPLXF(x,y)=__builtin_complex((float)(x),(float)(y))>"
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -fvisibility=hidden>
  -ffunction-sections -fdata-sections -fno-math-errno)
target_link_options(project_options INTERFACE -Wl,--gc-sections)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # No exception passes through C. The tables to unwind it are a tenth of a program; debuggers have those of -g.
  target_compile_options(project_options INTERFACE $<$<COMPILE_LANGUAGE:C>:-fno-asynchronous-unwind-tables -fno-unwind-tables>)
  # An address that the loader adjusts takes a bit in place of 24 bytes: half a megabyte of pstrain. The loader is that of glibc 2.36.
  include(CheckLinkerFlag)
  check_linker_flag(C -Wl,--fatal-warnings,-z,pack-relative-relocs SLIPWAY_PACKS_RELOCATIONS) # a linker for ARM ignores it
  if(SLIPWAY_PACKS_RELOCATIONS)
    target_link_options(project_options INTERFACE -Wl,-z,pack-relative-relocs)
  endif()
else()
  # Hundreds of static programs are linked for tests, each in a third of the time by lld. What is released is linked as anyone would.
  find_program(SLIPWAY_LLD ld.lld)
  if(SLIPWAY_LLD AND NOT CMAKE_CROSSCOMPILING) # a cross-compiler looks for one of its own
    target_link_options(project_options INTERFACE -fuse-ld=lld)
  endif()
endif()

# Hardening. Sanitizers replace the run-time checks: fortified calls would bypass AddressSanitizer's own.
target_link_options(project_options INTERFACE -Wl,-z,relro,-z,now)
if(NOT SLIPWAY_SANITIZE AND NOT SLIPWAY_COVERAGE)
  target_compile_options(project_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(SLIPWAY_X86_64)
  target_compile_options(project_options INTERFACE -fcf-protection=full)
else()
  # The oldest x86-64 cannot multiply and add with one rounding. Without it elsewhere, the same numbers become the same bits; FakeQuant
  # and others would round to the next integer.
  target_compile_options(project_options INTERFACE -ffp-contract=off)
endif()

if(SLIPWAY_SANITIZE)
  target_compile_options(project_options INTERFACE
    -fsanitize=${SLIPWAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # Clang reports NULL + 0, which C2y defines, and which every empty list is.
    $<$<COMPILE_LANG_AND_ID:C,Clang>:-fno-sanitize=pointer-overflow>)
  target_link_options(project_options INTERFACE -fsanitize=${SLIPWAY_SANITIZE})
endif()
if(SLIPWAY_FUZZ)
  target_compile_options(project_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SLIPWAY_COVERAGE)
  target_compile_options(project_options INTERFACE --coverage)
  target_link_options(project_options INTERFACE --coverage)
endif()
