"""An S3 server for the data stores' tests: moto, with its check of signatures and rights turned on.

Usage: server.py PORT FILE. Serves on loopback, has the bucket `bucket` and two users, and writes their keys to FILE
when it is ready: access key and secret key of one who may do all, then of one who may do nothing."""

import json
import logging
import os
import sys
import threading
from pathlib import Path

import boto3
from moto import settings
from moto.core.responses import ActionAuthenticatorMixin
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

_EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


def main(port: int, ready: Path) -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False).start()
    account = {
        "endpoint_url": f"http://127.0.0.1:{port}",
        "region_name": "us-east-1",
        "aws_access_key_id": "setup",
        "aws_secret_access_key": "setup",
    }
    iam = boto3.client("iam", **account)
    keys = []
    for user in ("owner", "stranger"):
        iam.create_user(UserName=user)
        key = iam.create_access_key(UserName=user)["AccessKey"]
        keys += [key["AccessKeyId"], key["SecretAccessKey"]]
    iam.put_user_policy(UserName="owner", PolicyName="all", PolicyDocument=json.dumps(_EVERYTHING))
    boto3.client("s3", **account).create_bucket(Bucket="bucket")
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0  # from now on every request is checked
    ActionAuthenticatorMixin.request_count = 0
    unfinished = ready.with_suffix(".new")
    unfinished.write_text("\n".join(keys) + "\n")
    unfinished.rename(ready)
    threading.Event().wait()


if __name__ == "__main__":
    for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        del os.environ[name]
    main(int(sys.argv[1]), Path(sys.argv[2]))
