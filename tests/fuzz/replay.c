/* Runs a fuzz target on every file of a directory, so that each ctest repeats the inputs that
 * libFuzzer has found. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, got;

    if (file == NULL)
        return 0;
    do {
        data = realloc(data, size + 65536);
        if (data == NULL)
            abort();
        got = fread(data + size, 1, 65536, file);
        size += got;
    } while (got > 0);
    fclose(file);
    uint8_t *exact =
        malloc(size > 0 ? size : 1); /* no slack: a sanitizer sees a read past the end */
    for (size_t i = 0; i < size; i++)
        exact[i] = data[i];
    free(data);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

int main(int argc, char **argv)
{
    char path[4096];
    int count = 0;
    DIR *directory = argc > 1 ? opendir(argv[1]) : NULL;

    if (directory == NULL) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        count += replay(path);
    }
    closedir(directory);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
