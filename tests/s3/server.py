"""An S3 server for the tests of the data stores: moto, with its check of signatures and rights turned on.

Usage: server.py PORT FILE. The server listens on loopback and has the bucket `bucket` and two users. As soon as it is
ready it writes their keys to FILE: the access key and secret key of a user who may do everything, then those of a user
who may do nothing."""

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
