#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Stands in for caido-cli, which is not free software and so is no part of the tests: what Cordon has to know of it, and nothing else. It takes the
# arguments of Strix's image and no others, imports the PKCS#12 file as Caido does (a bad one ends it with a line), needs a home to write to, and
# answers POST /graphql/ with 400, any other path with 404.
import argparse, http.server, os, subprocess, sys

parser = argparse.ArgumentParser()
parser.add_argument("--listen", required=True)
parser.add_argument("--import-ca-cert", required=True)
parser.add_argument("--import-ca-cert-pass", required=True)
parser.add_argument("--ui-domain", action="append", default=[])
for flag in ("--allow-guests", "--no-logging", "--no-open"):
    parser.add_argument(flag, action="store_true", required=True)
options = parser.parse_args()
packed = subprocess.run(["openssl", "pkcs12", "-in", options.import_ca_cert, "-passin", "pass:" + options.import_ca_cert_pass, "-nodes"],
                        capture_output=True, text=True)
if packed.returncode or "PRIVATE KEY" not in packed.stdout or "Cordon CA" not in packed.stdout:
    sys.exit("Error: Failed to import CA certificate")
os.makedirs(os.path.expanduser("~/.local/share/caido"))


class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(400 if self.path == "/graphql/" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


host, port = options.listen.split(":")
print("domains:", *options.ui_domain, flush=True)
http.server.HTTPServer((host, int(port)), Answer).serve_forever()
