"""What a control plane reads again while it runs."""

import asyncio
from pathlib import Path

import pytest

from setpoint.config.settings import Authentication, Config
from setpoint.objects.errors import Unauthorized
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane, PlaneError


async def name_of(plane: ControlPlane, token: str) -> str:
    review: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with plane.client(token=token) as client:
        found: str = (await client.create(review))["status"]["userInfo"]["username"]
        return found


async def test_the_token_file_is_read_again_and_one_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("one,ann,1\ntwo,bob,2\n")

    async def main() -> None:
        config = Config(authentication=Authentication(token_file=str(file)))
        async with ControlPlane(config=config, system=False) as plane:
            assert await name_of(plane, "one") == "ann"
            file.write_text("two,eve,2\nthree,cid,3\n")
            assert await name_of(plane, "one") == "ann", "nobody has told it yet"
            plane.reload()
            assert [await name_of(plane, token) for token in ("two", "three")] == ["eve", "cid"]
            assert await name_of(plane, plane.token) == "system:admin", "the administrator stays"
            with pytest.raises(Unauthorized):
                await name_of(plane, "one")
            file.write_text("four\n")
            with pytest.raises(PlaneError, match=r"cannot read the token file: .*line 1"):
                plane.reload()
            assert await name_of(plane, "three") == "cid"

    (await asyncio.wait_for(main(), 30))
