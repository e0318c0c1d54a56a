#!/bin/sh
# What a container of the Dockerfile runs: serves the versions in $MODEL_BASE_PATH/$MODEL_NAME. Arguments are further flags, and
# override these; with --model_config_file among them, the file names the models.
exec modelserver --port=8500 --rest_api_port=8501 --model_name="$MODEL_NAME" --model_base_path="$MODEL_BASE_PATH/$MODEL_NAME" "$@"
