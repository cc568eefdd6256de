"""The fields of containers that the container engine interprets. Their names and meanings are those of Compose."""

from typing import Literal, TypeAlias

from setpoint.app.parts import Limit, Part, Words

# A size in bytes, or with a unit: 64m.
Size: TypeAlias = str | int
# A number, or a text with a reference to a number.
Number: TypeAlias = int | str


class Attachment(Part, frozen=True, kw_only=True):
    """A network of a container, in the long form."""

    aliases: tuple[str, ...] = ()
    """Additional names of the container in the network."""

    ipv4_address: str = ""
    """The IPv4 address of the container."""

    ipv6_address: str = ""
    """The IPv6 address of the container."""

    link_local_ips: tuple[str, ...] = ()
    """Additional link-local addresses."""

    mac_address: str = ""
    """The MAC address in the network."""

    driver_opts: dict[str, str] = {}
    """Options of the network driver."""

    gw_priority: int = 0
    """The network with the highest number has the default gateway."""


class After(Part, frozen=True, kw_only=True):
    """A dependency, in the long form."""

    condition: str = ""
    """started, ready, done, finished, or `log:regex`; the default is ready for a service and done for a task."""

    restart: bool = False
    """Restarts the service after each restart of the dependency."""

    required: bool = True
    """If false, the service also starts after the dependency has failed."""


class Logging(Part, frozen=True, kw_only=True):
    """The log driver of the container engine."""

    driver: str = ""
    """The name of the driver."""

    options: dict[str, str] = {}
    """The options of the driver."""


class DeviceRequest(Part, frozen=True, kw_only=True):
    """A request for devices such as GPUs."""

    driver: str = ""
    """The driver, such as nvidia."""

    count: Number = ""
    """The number of devices, or all."""

    device_ids: tuple[str, ...] = ()
    """The ids of the devices, instead of a number."""

    capabilities: tuple[str, ...] = ()
    """The required capabilities; gpu by default."""

    options: dict[str, str] = {}
    """Options of the driver."""


class DeviceRate(Part, frozen=True, kw_only=True):
    """The limit of a disk."""

    path: str
    """The path of the device."""

    rate: Size
    """The number of bytes or operations per second."""


class DeviceWeight(Part, frozen=True, kw_only=True):
    """The weight of a disk."""

    path: str
    """The path of the device."""

    weight: Number
    """The weight, from 10 to 1000."""


class BlkioConfig(Part, frozen=True, kw_only=True):
    """The limits of disks."""

    weight: Number = ""
    """The weight of the container, from 10 to 1000."""

    weight_device: tuple[DeviceWeight, ...] = ()
    """The weights by device."""

    device_read_bps: tuple[DeviceRate, ...] = ()
    """The maximum number of bytes read per second, by device."""

    device_read_iops: tuple[DeviceRate, ...] = ()
    """The maximum number of reads per second, by device."""

    device_write_bps: tuple[DeviceRate, ...] = ()
    """The maximum number of bytes written per second, by device."""

    device_write_iops: tuple[DeviceRate, ...] = ()
    """The maximum number of writes per second, by device."""


class ImageHealth(Part, frozen=True, kw_only=True):
    """The schedule of the health check of an image."""

    interval: str = ""
    """The interval between checks."""

    timeout: str = ""
    """The timeout of one check."""

    start_period: str = ""
    """The time after the start during which failures do not count."""

    start_interval: str = ""
    """The interval between checks during the start period."""

    retries: Number = ""
    """The number of consecutive failures that count."""


class File(Part, frozen=True, kw_only=True):
    """A file that is written into the container before its start. Exactly one of secret and content must be set."""

    target: str
    """The absolute path in the container."""

    secret: str = ""
    """The name of a secret with the content."""

    content: str = ""
    """The content of the file."""

    uid: Number = 0
    """The id of the owner."""

    gid: Number = 0
    """The id of the group."""

    mode: str = "0444"
    """The permissions, as an octal number."""


class ContainerFields(Part, frozen=True, kw_only=True):
    """The fields of a container that the container engine interprets, with the names and meanings of Compose."""

    container_name: str = ""
    """The name in the container engine; with replicas, followed by their numbers."""

    hostname: str = ""
    """The host name in the container."""

    domainname: str = ""
    """The domain name in the container."""

    init: bool | None = None
    """Runs an init process, which forwards signals and reaps processes."""

    read_only: bool = False
    """Makes the file system of the container read-only."""

    network_mode: str = ""
    """host, none, `service:NAME` to share the network of another service, or `container:NAME`."""

    ipc: str = ""
    """The IPC namespace: host, private, shareable, `service:NAME` or `container:NAME`."""

    pid: str = ""
    """The process namespace: host, `service:NAME` or `container:NAME`."""

    uts: str = ""
    """The namespace of the host name: host."""

    userns_mode: str = ""
    """The user namespace."""

    cgroup: Literal["", "host", "private"] = ""
    """The control group namespace."""

    cgroup_parent: str = ""
    """The parent control group."""

    dns: Words = ()
    """DNS servers."""

    dns_opt: tuple[str, ...] = ()
    """Options of the DNS resolver."""

    dns_search: Words = ()
    """Search domains of the DNS resolver."""

    image_health: bool | ImageHealth = True
    """false disables the health check of the image; or its schedule."""

    tty: bool = False
    """Gives the container a terminal and keeps its output in the log; see `terminal` for an interactive one."""

    expose: tuple[str | int, ...] = ()
    """Ports that only other containers use."""

    links: tuple[str, ...] = ()
    """Other services, with an additional name in the networks: `db:database`."""

    files: tuple[File, ...] = ()
    """Files that are written into the container before its start."""

    volumes_from: tuple[str, ...] = ()
    """Services, or containers as `container:NAME`: their volumes are mounted, too; with `:ro` for read-only."""

    ulimits: dict[str, int | Limit] = {}
    """The limits of processes, such as nofile."""

    sysctls: dict[str, str | int] = {}
    """Kernel parameters."""

    security_opt: tuple[str, ...] = ()
    """Security options, such as no-new-privileges."""

    group_add: tuple[str | int, ...] = ()
    """Additional groups of the user in the container."""

    device_cgroup_rules: tuple[str, ...] = ()
    """Rules for device access."""

    gpus: str | tuple[DeviceRequest, ...] = ()
    """all, or requests for devices."""

    logging: Logging | None = None
    """The log driver of the container engine."""

    annotations: dict[str, str] = {}
    """Annotations of the container, for the runtime."""

    platform: str = ""
    """The platform of the image, such as linux/arm64."""

    runtime: str = ""
    """The runtime of the container engine."""

    isolation: str = ""
    """The isolation technology."""

    mac_address: str = ""
    """The MAC address."""

    shm_size: Size = ""
    """The size of /dev/shm."""

    storage_opt: dict[str, str] = {}
    """Options of the storage driver."""

    oom_kill_disable: bool = False
    """Does not kill processes that exceed the memory limit."""

    oom_score_adj: Number = ""
    """The preference of the kernel to end this container if memory runs out, from -1000 to 1000."""

    mem_reservation: Size = ""
    """The amount of memory that is guaranteed."""

    mem_swappiness: Number = ""
    """The preference for swapping, from 0 to 100."""

    memswap_limit: Size = ""
    """The limit of memory and swap together; -1 is unlimited."""

    cpu_shares: Number = ""
    """The CPU weight relative to other containers."""

    cpu_period: Number = ""
    """The period of the CPU scheduler, in microseconds."""

    cpu_quota: Number = ""
    """The CPU time in each period, in microseconds."""

    cpu_rt_period: Number = ""
    """The period of the real-time CPU scheduler, in microseconds."""

    cpu_rt_runtime: Number = ""
    """The real-time CPU time in each period, in microseconds."""

    cpuset: str = ""
    """The CPUs that the container may use: 0-3 or 0,1."""

    blkio_config: BlkioConfig | None = None
    """The limits of disks."""
