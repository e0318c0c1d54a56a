#include "runtime/kernels/plain/optimize.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

#include "base/bytes.h"

#define T          float
#define NAME(loop) loop##_f32
#define IS_REAL    1
#include "runtime/kernels/plain/optimize_loops.h"

#define T          double
#define NAME(loop) loop##_f64
#define IS_REAL    1
#include "runtime/kernels/plain/optimize_loops.h"

#define T          float _Complex
#define NAME(loop) loop##_c64
#define IS_REAL    0
#include "runtime/kernels/plain/optimize_loops.h"

#define T          double _Complex
#define NAME(loop) loop##_c128
#define IS_REAL    0
#include "runtime/kernels/plain/optimize_loops.h"

#define REAL(loop)                                        \
    {                                                     \
        [DT_FLOAT] = loop##_f32, [DT_DOUBLE] = loop##_f64 \
    }
#define ANY(loop)                                                                       \
    {                                                                                   \
        [DT_FLOAT] = loop##_f32, [DT_DOUBLE] = loop##_f64, [DT_COMPLEX64] = loop##_c64, \
        [DT_COMPLEX128] = loop##_c128                                                   \
    }

static const struct optimize_rule rules[] = {
    { "GradientDescent", 1, 1, NULL, ANY(gradient_descent) },
    { "Momentum", 2, 2, "use_nesterov", ANY(momentum) },
    { "KerasMomentum", 2, 2, "use_nesterov", ANY(keras_momentum) },
    { "Adam", 3, 6, "use_nesterov", ANY(adam) },
    { "AdamWithAmsgrad", 4, 6, NULL, REAL(adam_with_amsgrad) },
    { "AdaMax", 3, 5, NULL, REAL(adamax) },
    { "Adadelta", 3, 3, NULL, ANY(adadelta) },
    { "Adagrad", 2, 1, "update_slots", ANY(adagrad) },
    { "AdagradV2", 2, 2, "update_slots", ANY(adagrad_v2) },
    { "AdagradDA", 3, 4, NULL, REAL(adagrad_da) },
    { "Ftrl", 3, 4, "multiply_linear_by_lr", REAL(ftrl) },
    { "FtrlV2", 3, 5, "multiply_linear_by_lr", REAL(ftrl_v2) },
    { "RMSProp", 3, 4, NULL, ANY(rmsprop) },
    { "CenteredRMSProp", 4, 4, NULL, ANY(centered_rmsprop) },
    { "ProximalAdagrad", 2, 3, NULL, REAL(proximal_adagrad) },
    { "ProximalGradientDescent", 1, 3, NULL, REAL(proximal_gradient_descent) },
    { "AddSign", 2, 4, NULL, REAL(add_sign) },
    { "PowerSign", 2, 4, NULL, REAL(power_sign) },
};

const struct optimize_rule *optimize_find(const char *op)
{
    const char *apply = strstr(op, "Apply");
    for (size_t i = 0; apply != NULL && i < COUNT(rules); i++)
        if (strcmp(apply + strlen("Apply"), rules[i].name) == 0)
            return &rules[i];
    return NULL;
}
