// json_bench BODY: reads a predict body into a float tensor, and prints floats, by us and by
// RapidJSON used as TensorFlow Serving uses it (iterative parser, NaN allowed, a document that is
// then walked). Lines of `name value unit`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

extern "C" {
int json_bench_parse(const char *body, size_t size, float *first, long *count);
char *json_put_float(char *out, float value);
}

static double seconds_of(const std::function<void()> &work, int repeats)
{
    double best = 1e9;
    for (int round = 0; round < 100; round++) {
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < repeats; i++)
            work();
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                      repeats);
    }
    return best;
}

static void fill(const rapidjson::Value &value, std::vector<float> &out)
{
    if (value.IsArray()) {
        for (const auto &element : value.GetArray())
            fill(element, out);
    } else {
        out.push_back(static_cast<float>(value.GetDouble()));
    }
}

int main(int argc, char **argv)
{
    std::ifstream file(argc > 1 ? argv[1] : "/dev/null", std::ios::binary);
    std::string body((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const size_t size = body.size();
    body.append(64, '\0');
    std::vector<float> floats;
    float first = 0;
    long count = 0;

    double ours = seconds_of([&] { json_bench_parse(body.data(), size, &first, &count); }, 60);
    double theirs = seconds_of(
        [&] {
            rapidjson::Document document;
            document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                           rapidjson::kParseStopWhenDoneFlag>(body.data(), size);
            floats.clear();
            fill(document["instances"], floats);
        },
        60);
    if (count != static_cast<long>(floats.size()) || count == 0 || first != floats[0]) {
        fprintf(stderr, "json_bench: the two disagree: %ld and %zu numbers\n", count,
                floats.size());
        return 1;
    }

    std::vector<float> random(4096);
    srand(1);
    for (float &value : random)
        value = static_cast<float>(rand()) / static_cast<float>(RAND_MAX);
    std::vector<char> text(random.size() * 32);
    double printed = seconds_of(
        [&] {
            char *at = text.data();
            for (float value : random) {
                at = json_put_float(at, value);
                *at++ = ',';
            }
        },
        10);
    rapidjson::StringBuffer buffer;
    double rapid_printed = seconds_of(
        [&] {
            buffer.Clear();
            rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
            writer.SetFormatOptions(rapidjson::kFormatSingleLineArray);
            writer.StartArray();
            for (float value : random)
                writer.Double(value);
            writer.EndArray();
        },
        10);
    double numbers = static_cast<double>(random.size());
    printf("parse_mb_s %.0f MB/s\n", static_cast<double>(size) / ours / 1e6);
    printf("rapidjson_parse_mb_s %.0f MB/s\n", static_cast<double>(size) / theirs / 1e6);
    printf("print_ns %.1f ns\n", printed / numbers * 1e9);
    printf("rapidjson_print_ns %.1f ns\n", rapid_printed / numbers * 1e9);
    return 0;
}
