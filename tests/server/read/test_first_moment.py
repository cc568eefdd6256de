"""What a server has before anybody has written anything."""

from tests.server.write.api import Api


async def test_programs_find_the_api_server_by_its_service(api: Api) -> None:
    service = (await api("GET", "/api/v1/namespaces/default/services/kubernetes")).body
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert (service["spec"]["clusterIP"], service["spec"]["type"]) == ("10.0.0.1", "ClusterIP")
    [port] = service["spec"]["ports"]
    assert (port["name"], port["port"], port["targetPort"]) == ("https", 443, 6443)


async def test_nobody_else_gets_the_address_of_that_service(api: Api) -> None:
    wanted = {"metadata": {"name": "a"}, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 1}]}}
    answer = await api("POST", "/api/v1/namespaces/default/services", wanted)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert "provided IP is already allocated" in answer.body["message"]
