

bPlaceholder*
dtype0

aNegb:1*
T0