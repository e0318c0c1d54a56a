#include "runtime/kernels/libraries.h"

#include <cblas.h>

#include "runtime/kernels/plain/matmul.h"

#ifdef SLIPWAY_ONEDNN
#include <dnnl.h>

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } names[] = {
        { dnnl_cpu_isa_avx512_core_amx, "AVX-512 with AMX" },
        { dnnl_cpu_isa_avx512_core_bf16, "AVX-512 with bfloat16" },
        { dnnl_cpu_isa_avx512_core_vnni, "AVX-512 with VNNI" },
        { dnnl_cpu_isa_avx512_core, "AVX-512" },
        { dnnl_cpu_isa_avx2_vnni, "AVX2 with VNNI" },
        { dnnl_cpu_isa_avx2, "AVX2" },
        { dnnl_cpu_isa_avx, "AVX" },
        { dnnl_cpu_isa_sse41, "SSE4.1" },
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (names[i].isa == isa)
            return names[i].name;
    return "any CPU";
}

static void print_onednn(struct buffer *out)
{
    const dnnl_version_t *version = dnnl_version();
    buffer_printf(out, "oneDNN %d.%d.%d, %s\n", version->major, version->minor, version->patch,
                  isa_name(dnnl_get_effective_cpu_isa()));
}
#else
static void print_onednn(struct buffer *out)
{
    buffer_append_text(out, "oneDNN is not built in\n");
}
#endif

static const char *own_kernels(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2"))
        return "AVX2";
#endif
    return "the baseline of the architecture";
}

void libraries_print(struct buffer *out)
{
    buffer_printf(out, "our kernels: %s\n", own_kernels());
    print_onednn(out);
    buffer_printf(out, "OpenBLAS: %s, picked %s\n", openblas_get_config(), openblas_get_corename());
}

int libraries_reserve(int threads, size_t others_bytes)
{
    return matmul_blas_reserve(threads, others_bytes);
}
