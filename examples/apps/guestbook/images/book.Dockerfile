ARG BASE
FROM ${BASE}
COPY root/ /
COPY book.cgi /www/cgi-bin/entries
CMD ["httpd", "-f", "-v", "-p", "8080", "-h", "/www"]
