# Reads src/rooms.ini, which says what rooms there are and whom each knows:
#   CAESURA_ROOMS          the rooms, lowest first
#   CAESURA_KNOWS_<room>   the rooms it is linked to, highest first, as a linker wants them; not
#                          those whose headers alone it uses
# The room a/b is called a_b here, as its target caesura_a_b is.
set(rooms_file ${PROJECT_SOURCE_DIR}/src/rooms.ini)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rooms_file})
set(CAESURA_ROOMS "")
file(STRINGS ${rooms_file} lines REGEX "^(\\[|knows)")
foreach(line IN LISTS lines)
    if(line MATCHES "^\\[([a-z0-9_/]+)\\]")
        set(room ${CMAKE_MATCH_1})
        list(APPEND CAESURA_ROOMS ${room})
        string(REPLACE "/" "_" room ${room})
    elseif(line MATCHES "^knows *=(.*)")
        string(REGEX MATCHALL "(^| )[a-z0-9_/]+" knows "${CMAKE_MATCH_1}")  # none in brackets
        string(REPLACE " " "" knows "${knows}")
        list(REVERSE knows)
        string(REPLACE "/" "_" CAESURA_KNOWS_${room} "${knows}")
    else()
        message(FATAL_ERROR "${rooms_file}: '${line}' is no room")
    endif()
endforeach()
