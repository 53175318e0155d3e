#!/bin/sh
# Makes a virtual environment with pip in it, whatever of venv, pip and virtualenv there is. Usage: venv.sh PYTHON FOLDER
set -eu
python=$1
folder=$2

if "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
    "$python" -m venv "$folder"
elif "$python" -m virtualenv --version >/dev/null 2>&1; then
    "$python" -m virtualenv --quiet "$folder"
else
    "$python" -m venv --without-pip "$folder"
    "$python" -m pip --quiet --python "$folder/bin/python" install pip
fi
