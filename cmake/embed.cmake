# cmake -DIN=file -DOUT=file.c -DNAME=symbol -P embed.cmake: a file's bytes as a C array and its size.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "#include <stddef.h>\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_size;\nconst unsigned char ${NAME}[] = {\n${bytes}\n};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
