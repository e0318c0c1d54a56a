

xPlaceholder*
dtype0
I
ySymbolicGradientxx*
Tin
2*
Tout
2*
f	R
again
E
zSymbolicGradientx*
Tin
2*
Tout
2*
f	R
again}
{

again
a
rM
slopeSymbolicGradientaa*
Tin
2*
Tout
2*
f	R
again"
rslope:output:0