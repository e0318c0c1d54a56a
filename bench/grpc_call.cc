// Measures a unary call over gRPC C++: grpc_call serve PORT, grpc_call call PORT SIZE CALLS. The
// request has SIZE bytes, the reply is empty. It does the work of generated code except for
// protobuf messages. Prints "us X", the mean.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/method_handler.h>

namespace
{

const char kPath[] = "/slipway.bench.Call/Push";

class Push final : public grpc::Service
{
  public:
    Push()
    {
        AddMethod(new grpc::internal::RpcServiceMethod(
            kPath, grpc::internal::RpcMethod::NORMAL_RPC,
            new grpc::internal::RpcMethodHandler<Push, grpc::ByteBuffer, grpc::ByteBuffer,
                                                 grpc::ByteBuffer, grpc::ByteBuffer>(
                [](Push *, grpc::ServerContext *, const grpc::ByteBuffer *,
                   grpc::ByteBuffer *reply) {
                    grpc::Slice empty;
                    *reply = grpc::ByteBuffer(&empty, 1);
                    return grpc::Status::OK;
                },
                this)));
    }
};

int serve(const std::string &address)
{
    Push service;
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(-1);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    if (server == nullptr)
        return 1;
    server->Wait();
    return 0;
}

int call(const std::string &address, size_t size, int calls)
{
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    auto channel =
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    grpc::internal::RpcMethod method(kPath, grpc::internal::RpcMethod::NORMAL_RPC, channel);
    std::string bytes(size, 'x');
    grpc::Slice slice(bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE);
    auto once = [&] {
        grpc::ClientContext context;
        context.set_wait_for_ready(true);
        grpc::ByteBuffer request(&slice, 1), reply;
        auto status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
            channel.get(), method, &context, request, &reply);
        if (!status.ok()) {
            std::fprintf(stderr, "%s\n", status.error_message().c_str());
            std::exit(1);
        }
    };
    for (int i = 0; i < calls / 10 + 1; i++)
        once();
    auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++)
        once();
    std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begun;
    std::printf("us %.3f\n", spent.count() / calls);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    std::string address = std::string("127.0.0.1:") + argv[2];
    if (std::strcmp(argv[1], "serve") == 0)
        return serve(address);
    return argc > 4 ? call(address, std::strtoul(argv[3], nullptr, 10), std::atoi(argv[4])) : 2;
}
