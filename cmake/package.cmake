# A Debian package of the programs: cpack -G DEB --config build/release/CPackConfig.cmake. It depends on the packages of the shared
# libraries that the programs load; dpkg-shlibdeps finds them.
set(CPACK_PACKAGE_CONTACT "the maintainers of this build")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Trains on parameter servers and serves TensorFlow SavedModels")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The package takes what is built; CMake would first build everything, tests and benchmarks as well.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
