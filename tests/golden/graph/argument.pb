

xPlaceholder*
dtype0
@
yPartitionedCallx*
Tin
2*
Tout
2*

fR
fR
P

f
a
r&
stray_Arg*
T0*
index€Â×/"
rstray:output:0