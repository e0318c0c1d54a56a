

xPlaceholder*
dtype0
C
callPartitionedCallx*
Tin
2*
Tout
2*

fR
f

y
Frobnicatecall*
T0M
K

f
a
r!
strange
Frobnicatea*
T0"
rstrange:bars:0