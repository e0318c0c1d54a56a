
	
aNoOp
	
aNoOp