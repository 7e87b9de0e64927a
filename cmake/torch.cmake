# libtorch: the distribution's, or that of the active Python (-DREPRISE_TORCH=python).
#
# A wheel's TorchConfig.cmake looks for its libraries in the default folders first, where it finds those
# of the distribution: the program is linked with both and aborts when it starts. So the search begins in
# the wheel, and whatever comes from elsewhere ends the configuration.

# The folder of the active Python's torch package, into `variable`.
function(reprise_find_python_torch variable)
  # Not FindPython: the interpreter that is meant is the one that the user's shell would start. A CMake
  # that was installed with pip may have put its own Python first in PATH, before an environment's.
  find_program(REPRISE_PYTHON NAMES python3 python DOC "The Python whose torch is used"
    PATHS $ENV{VIRTUAL_ENV}/bin $ENV{CONDA_PREFIX}/bin NO_DEFAULT_PATH)
  find_program(REPRISE_PYTHON NAMES python3 python)
  if(NOT REPRISE_PYTHON)
    message(FATAL_ERROR "REPRISE_TORCH=python needs a Python in PATH.")
  endif()
  execute_process(
    COMMAND ${REPRISE_PYTHON} -c "import torch; print(torch.__path__[0]); print(torch.__version__)"
    OUTPUT_VARIABLE answer ERROR_VARIABLE trouble RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "REPRISE_TORCH=python: ${REPRISE_PYTHON} cannot import torch. Activate an "
      "environment that has PyTorch 2, or use the distribution's libtorch (-DREPRISE_TORCH=system).\n"
      "${trouble}")
  endif()
  string(REPLACE "\n" ";" answer "${answer}")
  list(GET answer -2 folder)
  list(GET answer -1 version)
  if(version VERSION_LESS 2)
    message(FATAL_ERROR "REPRISE_TORCH=python: ${REPRISE_PYTHON} has torch ${version}; 2.0 or newer "
      "is needed.")
  endif()
  message(STATUS "torch ${version} of ${REPRISE_PYTHON}")
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()

# Every library of torch that a program would be linked with must lie below `root`.
function(reprise_check_torch_root root)
  set(files ${TORCH_LIBRARIES})
  foreach(target torch torch_library torch_cpu torch_cuda c10 c10_cuda)
    if(TARGET ${target})
      foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE INTERFACE_LINK_LIBRARIES)
        get_target_property(value ${target} ${property})
        if(value)
          list(APPEND files ${value})
        endif()
      endforeach()
    endif()
  endforeach()
  file(REAL_PATH ${root} root)
  foreach(file ${files})
    if(file MATCHES "^/.*lib(c10|torch)[^/]*$")
      file(REAL_PATH ${file} real)
      cmake_path(IS_PREFIX root ${real} NORMALIZE is_inside)
      if(NOT is_inside)
        message(FATAL_ERROR "Two libtorch would be mixed: ${file} does not belong to ${root}. "
          "A program with both aborts when it starts. Remove this build folder and configure again "
          "without CMAKE_PREFIX_PATH, CMAKE_LIBRARY_PATH, Torch_DIR and LD_LIBRARY_PATH; to use the "
          "distribution's libtorch say -DREPRISE_TORCH=system.")
      endif()
    endif()
  endforeach()
endfunction()

set(torch_root /usr)
if(REPRISE_TORCH STREQUAL "python")
  reprise_find_python_torch(torch_root)
  if(Torch_DIR AND NOT Torch_DIR MATCHES "^${torch_root}/")
    message(FATAL_ERROR "Two libtorch would be mixed: Torch_DIR is ${Torch_DIR}, and "
      "REPRISE_TORCH=python asks for the one in ${torch_root}. Remove this build folder, or leave "
      "Torch_DIR out.")
  endif()
  list(PREPEND CMAKE_PREFIX_PATH ${torch_root})
  list(PREPEND CMAKE_LIBRARY_PATH ${torch_root}/lib)
elseif(NOT REPRISE_TORCH STREQUAL "system")
  message(FATAL_ERROR "REPRISE_TORCH is \"${REPRISE_TORCH}\"; it must be system, python or off.")
endif()
find_package(Torch REQUIRED)
reprise_check_torch_root(${torch_root})

# The wheel has the declarations of c10d's Gloo group, and not those of Gloo, which libgloo-dev has.
add_library(reprise_torch INTERFACE)
target_include_directories(reprise_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_compile_definitions(reprise_torch INTERFACE USE_C10D_GLOO
  # A wheel ships headers of its own fmt, without its library; fmt's namespace carries its version.
  $<$<STREQUAL:${REPRISE_TORCH},python>:FMT_HEADER_ONLY>)
separate_arguments(torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(reprise_torch INTERFACE ${torch_flags})
target_link_libraries(reprise_torch INTERFACE ${TORCH_LIBRARIES})
