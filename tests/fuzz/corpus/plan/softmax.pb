
2
xPlaceholder*
dtype0*
shape
:

SoftmaxSoftmaxx*
T0
4
x_1Placeholder*
dtype0*
shape
:
&

LogSoftmax
LogSoftmaxx_1*
T0
*
addAddV2Softmax
LogSoftmax*
T0"ª