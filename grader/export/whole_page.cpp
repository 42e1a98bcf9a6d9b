#include "grader/export/whole_page.hpp"

#include "engine/base/text.hpp"
#include "grader/export/escaped.hpp"
#include "grader/export/page_source.hpp"

namespace lockstep::grader {

std::string whole_page(const std::string& title, const std::string& body) {
  return text(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>",
      escaped_markup(title), "</title>\n<style>\n", book_css, "</style>\n</head>\n<body>\n", body,
      "</body>\n</html>\n");
}

}  // namespace lockstep::grader
