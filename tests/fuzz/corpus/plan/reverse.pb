
2
xPlaceholder*
dtype0*
shape
:
<
ReverseV2/axisConst*
dtype0*
valueB:
>
	ReverseV2	ReverseV2xReverseV2/axis*

Tidx0*
T0"ª