

bPlaceholder*
dtype0

aNegb*
T0