

xPlaceholder*
dtype0

enterEnterx*
T0
-
mergeMergeenternext*
N*
T0
$
growAddV2mergemerge*
T0
$
nextNextIterationgrow*
T0

exitExitmerge*
T0