// Writes json_errors.inc: the errors that RapidJSON reports for broken and unusual documents, with
// the parse flags of TensorFlow Serving. Needs Debian's rapidjson-dev.
//     g++ -O1 json_errors.cc -o json_errors && ./json_errors > json_errors.inc
#include <cstdio>
#include <string>

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

static const char *const documents[] = {
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "x",
    "nul",
    "null",
    "nulL",
    "true",
    "tru",
    "false",
    "fals",
    "\"",
    "\"a",
    "\"a\"",
    "\"\\",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\ud800\"",
    "\"\\ud800\\n\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ude00\"",
    "\"a\nb\"",
    "\"a\tb\"",
    "\"a\x01\"",
    "\"\xff\xfe\"",
    "\"\xc3\xa9\"",
    "'a'",
    "{'a':1}",
    "{a:1}",
    "{\"a\"}",
    "{\"a\" 1}",
    "{\"a\":}",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{\"a\":1]",
    "{\"a\":1 \"b\":2}",
    "{,}",
    "{1:2}",
    "{\"a\":1,,\"b\":2}",
    "{\"a\"::1}",
    "{}",
    "{ }",
    "{\"a\":{}}",
    "{\"a\":[]}",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1}",
    "[1 2]",
    "[1,,2]",
    "[]",
    "[ ]",
    "[[]]",
    "[{}]",
    "[[1,2],[3]]",
    "[[1,2],[3]",
    "[[1,2],[3]}",
    "1",
    "-1",
    "-",
    "+1",
    "01",
    "-01",
    "1.",
    "1.e1",
    ".5",
    "-.5",
    "1e",
    "1e+",
    "1e-",
    "1ex",
    "1e5",
    "1E5",
    "1e+5",
    "1e-5",
    "1.5e3",
    "0",
    "-0",
    "0.0",
    "0x10",
    "1e308",
    "1e309",
    "-1e309",
    "1e999999",
    "1e-999999",
    "[1e309]",
    "[0,1e400,2]",
    "NaN",
    "-NaN",
    "nan",
    "Nan",
    "NaNs",
    "Inf",
    "-Inf",
    "Infinity",
    "-Infinity",
    "Infinit",
    "Infx",
    "[Infinit]",
    "[Inf,1]",
    "inf",
    "infinity",
    "I",
    "N",
    "[NaN,Infinity,-Infinity]",
    "{\"a\":NaN}",
    "1 2",
    "{} x",
    "[1] ]",
    "{\"a\":1}}",
    "\xef\xbb\xbf{}",
    "\xef\xbb\xbf{\"a\"}",
    "\xef\xbb\xbf",
    "// c\n{}",
    "{/**/}",
    "[1,2 /*x*/]",
    "{\"a\":\"b",
    "{\"a\":\"b\\",
    "{\"a",
    "{\"a\\",
    "{\"instances\": [1.0, 2.0",
    "{\"instances\": [1.0 2.0]}",
    "{\"instances\": [[1.0, 2.0], [3.0, 4.0]]",
    "{\"instances\": [1.0, .5]}",
    "{\"instances\" [1]}",
    "{\"instances\": [1], }",
    "{\"a\": undefined}",
    "{\"a\": True}",
    "{\"a\": None}",
    "{\"a\":\"x\" \"y\"}",
    "\f{}",
    "{\"a\":1}\f",
    "\v",
    "[1\v]",
    "{\"a\": 18446744073709551615}",
    "{\"a\": 18446744073709551616}",
    "{\"a\": 123456789012345678901234567890.5}",
    "[tru]",
    "[falsy]",
    "[nulls]",
    "[truex]",
    "{\"a\":tr",
    "[-]",
    "[--1]",
    "[1-]",
    "[1e1.5]",
    "[1.2.3]",
};

static void print_text(const std::string &text)
{
    putchar('"');
    for (unsigned char c : text) {
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c > 0x7e)
            printf("\\%03o", c);
        else
            putchar(c);
    }
    putchar('"');
}

int main()
{
    puts(
        "/* Made by json_errors.cc from RapidJSON 1.1.0: document, error (NULL: none), offset. */");
    for (const std::string text : documents) {
        rapidjson::Document document;
        document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                       rapidjson::kParseStopWhenDoneFlag>(text.data(), text.size());
        printf("{ ");
        print_text(text);
        if (document.HasParseError()) {
            printf(", ");
            print_text(rapidjson::GetParseError_En(document.GetParseError()));
            printf(", %zu },\n", document.GetErrorOffset());
        } else {
            printf(", NULL, 0 },\n");
        }
    }
    return 0;
}
