

xPlaceholder*
dtype0
@
yPartitionedCallx*
Tin
2*
Tout
2*

fR
fM
K

f
a
r
nNega*
T0
mNegn*
T0"

rm:y:0