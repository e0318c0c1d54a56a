

xPlaceholder*
dtype0
D
yPartitionedCallx*
Tin
2*
Tout
2*
f	R
againv
t

again
a
rG
callPartitionedCalla*
Tin
2*
Tout
2*
f	R
again"
rcall:output:0