ARG BASE
FROM ${BASE}
COPY root/ /
COPY web.cgi /www/cgi-bin/index.cgi
CMD ["httpd", "-f", "-v", "-p", "8080", "-h", "/www"]
