/*
 * special: special functions that libm lacks, in double, to about 1e-13 of the result unless said
 * otherwise.
 */
#ifndef PLAIN_SPECIAL_H
#define PLAIN_SPECIAL_H

double special_lgamma(double x); /* ln |Γ(x)| */
double special_digamma(double x);
double special_erfinv(double x);
double special_ndtri(double p);      /* the x below which a normal number lies with probability p */
double special_bessel_i0e(double x); /* e^-|x| I0(x) */
double special_bessel_i1e(double x);
double special_bessel_k0e(double x); /* e^x K0(x) */
double special_bessel_k1e(double x);
double special_dawsn(double x);
double special_expint(double x);      /* Ei(x), for x >= 0 */
double special_fresnel_cos(double x); /* to 1e-10 */
double special_fresnel_sin(double x);
double special_spence(double x); /* the dilogarithm of 1 - x */
double special_zeta(double x, double q);
double special_polygamma(double n, double x);
double special_igamma(double a, double x);       /* P(a, x), regularised */
double special_igammac(double a, double x);      /* Q(a, x) = 1 - P(a, x) */
double special_igamma_slope(double a, double x); /* ∂P(a, x) / ∂a */
/* The derivative by alpha of a sample of a gamma distribution of that shape, at a fixed P. As in
 * TensorFlow, it is 0 if the logarithm of the density is below -log_max. */
double special_gamma_sample_slope(double alpha, double sample, double log_max);
double special_betainc(double a, double b, double x);

#endif
