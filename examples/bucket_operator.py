"""An operator with an external system and a finalizer: a Bucket of the API is one at a storage provider.

The provider knows nothing of the API: what it has must be removed before the object may go, and what happens there must
be looked at now and then. `python examples/bucket_operator.py` runs it in one process with a control plane of its own.
"""

import asyncio

import setpoint as sp

FINALIZER = "storage.example.com/bucket"


class Storage:
    """The provider: slow, far away, and not always well. Here it is in memory."""

    def __init__(self) -> None:
        self.buckets: dict[str, str] = {}
        self.is_down = False

    async def put(self, name: str, region: str) -> None:
        self._check()
        self.buckets[name] = region

    async def delete(self, name: str) -> None:
        self._check()
        self.buckets.pop(name, None)

    def _check(self) -> None:
        if self.is_down:
            raise ConnectionError("the storage provider does not answer")


class BucketSpec(sp.Model):
    """What a bucket should be."""

    region: str


class BucketStatus(sp.Model):
    """What a bucket is."""

    address: str = ""
    observed_generation: int = 0


class Bucket(sp.Resource, group="storage.example.com", version="v1"):
    """A bucket at the provider."""

    spec: BucketSpec
    status: BucketStatus | None = None


@sp.controller(Bucket, concurrency=8, timeout=30.0)
class Buckets:
    """Reconciles buckets. What it needs is given when it is made."""

    def __init__(self, storage: Storage, look_again: float = 300.0) -> None:
        self._storage = storage
        self._look_again = look_again

    async def reconcile(self, ctx: sp.Context[Bucket], request: sp.Request) -> sp.Result | None:
        name = f"{request.namespace}-{request.name}"

        async def remove() -> None:
            await self._storage.delete(name)

        if await ctx.finalize(FINALIZER, remove):
            return None  # it is gone, here and there
        bucket = await ctx.object()
        if bucket is None:
            return None
        if bucket.spec.region == "nowhere":
            raise sp.TerminalError("there is no region 'nowhere': trying again would not help")
        await self._storage.put(name, bucket.spec.region)  # what fails is tried again, ever more slowly
        ctx.status.address = f"https://{name}.{bucket.spec.region}.example.com"
        return sp.Result(requeue_after=self._look_again)


async def main() -> None:
    storage = Storage()
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(Bucket)
        async with sp.Manager(client, controllers=[Buckets(storage)]):
            metadata = sp.ObjectMeta(name="photos", namespace="default")
            await client.create(Bucket(metadata=metadata, spec=BucketSpec(region="north")))
            bucket = await client.wait_for(Bucket, "photos", "default", "jsonpath={.status.address}")
            assert bucket is not None
            assert bucket.status is not None
            print("made:", bucket.status.address)

            await client.delete(Bucket, "photos", "default")
            await client.wait_for(Bucket, "photos", "default", "delete")
            print("gone, and the provider has:", storage.buckets)


if __name__ == "__main__":
    asyncio.run(main())
