// client.js ADDRESS [CA KEY CERT]: calls the echo server with @grpc/grpc-js, without protobuf.
// Prints one line of JSON per check.
const fs = require("fs");
const path = require("path");
const grpc = require(path.join(process.env.SLIPWAY_NODE_MODULES, "@grpc/grpc-js"));

const [address, ca, key, cert] = process.argv.slice(2);
const credentials = ca
  ? grpc.credentials.createSsl(fs.readFileSync(ca), key && fs.readFileSync(key), cert && fs.readFileSync(cert))
  : grpc.credentials.createInsecure();
const client = new grpc.Client(address, credentials, {
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
});
const same = (bytes) => bytes;
const deadline = () => ({ deadline: Date.now() + 60000 });

const metadata = (fields) => {
  const all = new grpc.Metadata();
  for (const [name, value] of Object.entries(fields)) all.set(name, value);
  return all;
};

const unary = (method, data, fields = {}, options = deadline()) =>
  new Promise((resolve) => {
    const seen = {};
    const call = client.makeUnaryRequest("/slipway.test.Echo/" + method, same, same, data, metadata(fields), options, (error, reply) => {
      seen.code = error ? error.code : 0;
      seen.details = error ? error.details : "";
      seen.size = reply ? reply.length : -1;
      seen.equal = !!reply && reply.equals(data);
    });
    call.on("status", (status) => {
      seen.trailer = status.metadata.get("x-echo");
      setImmediate(() => resolve(seen));
    });
  });

const repeat = (data, count) =>
  new Promise((resolve) => {
    let replies = 0;
    const call = client.makeServerStreamRequest("/slipway.test.Echo/Repeat", same, same, data, metadata({ "x-count": String(count) }), deadline());
    call.on("data", (reply) => (replies += reply.equals(data) ? 1 : 0));
    call.on("error", () => {});
    call.on("status", (status) => resolve({ replies, code: status.code }));
  });

const chat = (messages) =>
  new Promise((resolve) => {
    const replies = [];
    const call = client.makeBidiStreamRequest("/slipway.test.Echo/Chat", same, same, new grpc.Metadata(), deadline());
    call.on("data", (reply) => {
      replies.push(reply.toString());
      if (replies.length < messages.length) call.write(Buffer.from(messages[replies.length]));
      else call.end();
    });
    call.on("error", () => {});
    call.on("status", (status) => resolve({ replies, code: status.code }));
    call.write(Buffer.from(messages[0]));
  });

(async () => {
  const say = (name, seen) => console.log(JSON.stringify({ name, ...seen }));
  say("small", await unary("Echo", Buffer.from("hello"), { "x-echo": "back" }));
  say("empty", await unary("Echo", Buffer.alloc(0)));
  say("large", await unary("Echo", Buffer.alloc(3 << 20, 7)));
  say("fail", await unary("Fail", Buffer.from("no 'x' at 100 %, ä\nsecond line"), { "x-code": "5" }));
  say("unknown", await unary("None", Buffer.alloc(0)));
  say("deadline", await unary("Hold", Buffer.alloc(0), {}, { deadline: Date.now() + 300 }));
  say("repeat", await repeat(Buffer.from("again"), 1000));
  say("chat", await chat(["a", "b", "c"]));
  const all = await Promise.all(Array.from({ length: 200 }, (_, i) => unary("Echo", Buffer.from("n" + i))));
  say("parallel", { good: all.filter((seen) => seen.equal).length });
  client.close();
})();
