# find_package(metasim) gives the targets metasim::metasim (the shared library) and metasim::static. For C++ the same: metasim.hpp is
# beside metasim.h.
get_filename_component(_metasim "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET metasim::metasim)
  add_library(metasim::metasim SHARED IMPORTED)
  set_target_properties(metasim::metasim PROPERTIES
    IMPORTED_LOCATION "${_metasim}/lib/libmetasim.so.2"
    INTERFACE_INCLUDE_DIRECTORIES "${_metasim}/include")
  add_library(metasim::static STATIC IMPORTED)
  set_target_properties(metasim::static PROPERTIES
    IMPORTED_LOCATION "${_metasim}/lib/libmetasim.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_metasim}/include")
endif()
unset(_metasim)
