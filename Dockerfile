# An image with the four programs. It starts modelserver as the image tensorflow/serving starts TensorFlow Serving: the same
# ports, variables and entrypoint.
#
#   docker build -t slipway .
#   docker run -p 8500:8500 -p 8501:8501 -v "$PWD/model:/models/digits" -e MODEL_NAME=digits slipway
FROM debian:12-slim AS build
WORKDIR /slipway
COPY scripts/packages.txt scripts/
RUN apt-get update && apt-get install -y --no-install-recommends \
        $(awk '$1 == "build" || $1 == "package" { print $2 }' scripts/packages.txt)
COPY . .
RUN cmake --preset release \
    && cmake --build --preset release --target pstrain modelserver modelclient savedmodel_program \
    && cpack -G DEB --config build/release/CPackConfig.cmake -B /package

FROM debian:12-slim
COPY --from=build /package/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
# Deployments name these two paths as their command.
COPY server/tf_serving_entrypoint.sh /usr/bin/
RUN ln -s modelserver /usr/bin/tensorflow_model_server
ENV MODEL_BASE_PATH=/models MODEL_NAME=model
WORKDIR /models
EXPOSE 8500 8501
ENTRYPOINT ["/usr/bin/tf_serving_entrypoint.sh"]
