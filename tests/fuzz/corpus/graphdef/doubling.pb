

xPlaceholder*
dtype0
A
yPartitionedCallx*
Tin
2*
Tout
2*
fR
f0“:
´

f0
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f1J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f1"
r
q:output:0
´

f1
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f2J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f2"
r
q:output:0
´

f2
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f3J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f3"
r
q:output:0
´

f3
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f4J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f4"
r
q:output:0
´

f4
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f5J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f5"
r
q:output:0
´

f5
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f6J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f6"
r
q:output:0
´

f6
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f7J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f7"
r
q:output:0
´

f7
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f8J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f8"
r
q:output:0
´

f8
a
rA
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f9J
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f9"
r
q:output:0
¶

f9
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f10K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f10"
r
q:output:0
·

f10
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f11K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f11"
r
q:output:0
·

f11
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f12K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f12"
r
q:output:0
·

f12
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f13K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f13"
r
q:output:0
·

f13
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f14K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f14"
r
q:output:0
·

f14
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f15K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f15"
r
q:output:0
·

f15
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f16K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f16"
r
q:output:0
·

f16
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f17K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f17"
r
q:output:0
·

f17
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f18K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f18"
r
q:output:0
·

f18
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f19K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f19"
r
q:output:0
·

f19
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f20K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f20"
r
q:output:0
·

f20
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f21K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f21"
r
q:output:0
·

f21
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f22K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f22"
r
q:output:0
·

f22
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f23K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f23"
r
q:output:0
·

f23
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f24K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f24"
r
q:output:0
·

f24
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f25K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f25"
r
q:output:0
·

f25
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f26K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f26"
r
q:output:0
·

f26
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f27K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f27"
r
q:output:0
·

f27
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f28K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f28"
r
q:output:0
·

f28
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f29K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f29"
r
q:output:0
·

f29
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f30K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f30"
r
q:output:0
·

f30
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f31K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f31"
r
q:output:0
·

f31
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f32K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f32"
r
q:output:0
·

f32
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f33K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f33"
r
q:output:0
·

f33
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f34K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f34"
r
q:output:0
·

f34
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f35K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f35"
r
q:output:0
·

f35
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f36K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f36"
r
q:output:0
·

f36
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f37K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f37"
r
q:output:0
·

f37
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f38K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f38"
r
q:output:0
·

f38
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f39K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f39"
r
q:output:0
·

f39
a
rB
pPartitionedCalla*
Tin
2*
Tout
2*
fR
f40K
qPartitionedCall
p:output:0*
Tin
2*
Tout
2*
fR
f40"
r
q:output:0


f40
a
r"
ra