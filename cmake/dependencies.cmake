# Every dependency is a Debian 12 package; docs/dependencies.md says why each is worth it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(PROTOBUFC REQUIRED IMPORTED_TARGET libprotobuf-c>=1.4)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.75)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls>=3.7)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2>=1.52)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng>=1.6)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
find_library(SNAPPY_LIBRARY snappy REQUIRED)
find_library(UNISTRING_LIBRARY unistring REQUIRED) # has no .pc file
find_program(PROTOC protoc REQUIRED)
find_program(PROTOC_GEN_C protoc-gen-c REQUIRED)

# oneDNN has no .pc file, and its CMake package asks for OpenCL headers.
if(SLIPWAY_ONEDNN)
  find_library(DNNL_LIBRARY dnnl REQUIRED)
  find_package(OpenMP REQUIRED COMPONENTS C) # whose width per thread it obeys
endif()
