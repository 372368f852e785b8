# The service of the model in /models/model, with numpy alone: no torch, no compiler, not root.
#   docker build --tag adasent .
#   docker run --rm --publish 127.0.0.1:8000:8000 --volume "$PWD/models:/models:ro" \
#     --read-only --tmpfs /tmp --cap-drop ALL adasent

FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/adasent \
    && /opt/adasent/bin/pip install --no-cache-dir --constraint constraints.txt ".[serve]" \
    && /opt/adasent/bin/pip uninstall --yes pip \
    && find /opt/adasent -type d -name tests -prune -exec rm -r {} +

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin adasent
COPY --from=build /opt/adasent /opt/adasent
ENV PATH=/opt/adasent/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1
USER 10001:10001
WORKDIR /
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["adasent", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/models/model"]
