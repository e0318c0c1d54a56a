

xPlaceholder*
dtype0

unusedNegx*
T0
P
callPartitionedCallxunused*
Tin
2*
Tout
2*
f	R
outer

yIdentitycall*
T0í
Ÿ

outer
a
b
rG
innerPartitionedCalla*
Tin
2*
Tout
2*
fR
relu(
sumAddV2inner:output:0a*
T0"
rsum:z:0
I

relu
a
r
ReluRelua*
T0"
rRelu:activations:0